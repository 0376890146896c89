// A load for the examples: so many requests on four connections, one in ten to the slow route.
// Usage: PORT=8080 node load.mjs COUNT. It fails when a request does.
const count = Number(process.argv[2] ?? 400);
const origin = `http://127.0.0.1:${process.env.PORT}`;
let sent = 0;

async function client() {
  while (sent < count) {
    sent += 1;
    const path = sent % 10 === 0 ? '/report/2026' : `/users/${sent}`;
    const response = await fetch(origin + path);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  }
}

await Promise.all(Array.from({ length: 4 }, client));
