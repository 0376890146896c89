// The published load on Etherpad: sessions of seven API calls on one pad, started at a fixed rate.
//
// createPad, getText, setText, getText, setText, getText, deletePad: the mix of VEE'19. Open loop:
// a session starts when it is due, whether or not earlier ones have ended. Needs $PORT.
import http from 'node:http';
import { API_KEY } from './setup.mjs';

const SESSIONS_PER_S = Number(process.env.ETHERPAD_RATE ?? 20);
const DURATION_S = Number(process.env.ETHERPAD_SECONDS ?? 20);
const agent = new http.Agent({ keepAlive: true });

/** One API call; rejects unless Etherpad says that it did it. */
function call(name, parameters) {
  const query = new URLSearchParams({ apikey: API_KEY, ...parameters });
  const path = `/api/1/${name}?${query}`;
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: process.env.PORT, path, agent };
    const request = http.get(options, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => {
        const { code, message } = JSON.parse(text);
        if (code === 0) resolve();
        else reject(new Error(`${name}: ${message}`));
      });
    });
    request.on('error', reject);
  });
}

async function session(number) {
  const pad = { padID: `pad${process.pid}x${number}` };
  await call('createPad', { ...pad, text: 'a first line' });
  await call('getText', pad);
  await call('setText', { ...pad, text: `changed ${'once '.repeat(40)}` });
  await call('getText', pad);
  await call('setText', { ...pad, text: `changed ${'again '.repeat(60)}` });
  await call('getText', pad);
  await call('deletePad', pad);
}

const total = SESSIONS_PER_S * DURATION_S;
const sessions = [];
const startMs = performance.now();
for (let number = 0; number < total; number += 1) {
  const dueMs = startMs + (number * 1000) / SESSIONS_PER_S;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
  sessions.push(session(number));
}
await Promise.all(sessions);
agent.destroy();
process.stderr.write(`load: ${sessions.length} sessions of 7 calls\n`);
