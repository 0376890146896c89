// The service whose CPU per request is compared: an async chain, one file read and JSON work, or a
// bare answer on /plain. It measures nothing itself, so that all arms run the same code.
'use strict';
const fs = require('node:fs');
const http = require('node:http');

const file = process.argv[2];

async function handle() {
  const bytes = await fs.promises.readFile(file);
  const parsed = JSON.parse(bytes.toString());
  await null;
  return JSON.stringify({ keys: Object.keys(parsed).length, at: parsed.name });
}

const server = http.createServer((request, response) => {
  if (request.url === '/plain') {
    response.end('{"ok":true}');
    return;
  }
  handle().then(
    (body) => response.end(body),
    (error) => {
      response.statusCode = 500;
      response.end(String(error));
    },
  );
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.on('SIGTERM', () => process.exit(0));
