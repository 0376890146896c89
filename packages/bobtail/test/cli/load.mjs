/** Requests against a recorded service, and the account of those that were answered. */
import http from 'node:http';

/** One request; resolves to the body, rejects when the connection ends first. */
export function get(port, path, agent) {
  return new Promise((done, fail) => {
    const request = http.get({ host: '127.0.0.1', port, path, agent }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      response.on('error', fail).on('end', () => done(body));
    });
    request.on('error', fail);
  });
}

/** One request whose connection is closed when the first bytes of the response are there. */
export function abort(port, path) {
  return new Promise((done, fail) => {
    const request = http.get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.on('error', () => undefined).once('data', () => request.destroy());
      response.on('close', done);
    });
    request.on('error', fail);
  });
}

/**
 * Sends `count` requests on `connections` kept-alive connections, or fewer when `isEnough()` says
 * so. Resolves to how many were answered: all of them, or those before the service went away.
 */
export async function load(
  port,
  { count, connections = 4, path = (n) => `/file/${n}`, onAnswer, isEnough = () => false },
) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  let sent = 0;
  let answered = 0;
  const client = async () => {
    while (sent < count && !isEnough()) {
      sent += 1;
      await get(port, path(sent), agent);
      answered += 1;
      onAnswer?.(answered);
    }
  };
  await Promise.allSettled(Array.from({ length: connections }, client));
  agent.destroy();
  return answered;
}
