/**
 * Answers each line `<ms> …` after so many ms, in the order of arrival, and not before as many as
 * LINES have come. Tells its port by IPC.
 */
const net = require('node:net');

let missing = Number(process.env.LINES ?? 0);
let haveCome;
const allCame = new Promise((done) => {
  haveCome = done;
});
if (missing === 0) haveCome();

const server = net.createServer((socket) => {
  let rest = '';
  let last = Promise.resolve();
  const answer = (line) => {
    const ready = new Promise((done) => setTimeout(done, Number.parseInt(line, 10)));
    last = Promise.all([last, ready, allCame]).then(() => socket.write(`${line}\n`));
    missing -= 1;
    if (missing === 0) haveCome();
  };
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    lines.forEach(answer);
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit(0));
