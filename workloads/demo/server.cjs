// A small shop, for trying Bobtail on: disk, an upstream service, timers, JSON, and one bad route.
//
// `GET /export` serializes every order at once and keeps the loop for about 50 ms. It is asked for
// only now and then, yet it is most of the tail of all other routes.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { startPricing } = require('./pricing.cjs');

const PRODUCTS = 200;
const ORDERS = 25_000;
const CART_MS = 4;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bobtail-demo-'));
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
const orders = Array.from({ length: ORDERS }, (_, id) => ({
  id,
  customer: `customer ${id % 997}`,
  lines: Array.from({ length: 4 }, (_, line) => ({ product: (id * 7 + line) % PRODUCTS, line })),
}));

function productFile(id) {
  return path.join(folder, `product-${id}.json`);
}

function writeProducts() {
  for (let id = 0; id < PRODUCTS; id += 1) {
    const product = { id, name: `Product ${id}`, text: 'lorem ipsum '.repeat(80) };
    fs.writeFileSync(productFile(id), JSON.stringify(product));
  }
}

/** Disk: one file per product. */
async function product(id) {
  return JSON.parse(await fs.promises.readFile(productFile(id), 'utf8'));
}

/** Upstream: the price comes from another service over a kept-alive connection. */
function price(pricing, id) {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: pricing.port, path: `/${id}`, agent };
    const call = http.get(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve(JSON.parse(text)));
    });
    call.on('error', reject);
  });
}

/** Fan-out: disk and upstream at once. */
async function offer(pricing, id) {
  const [item, { cents }] = await Promise.all([product(id), price(pricing, id)]);
  return { ...item, cents };
}

/** Timer: the cart is written behind. */
async function cart(id) {
  await new Promise((resolve) => setTimeout(resolve, CART_MS));
  return { added: id };
}

/** JSON work: a page of orders, by customer. */
function search(customer) {
  return orders.slice(customer * 10, customer * 10 + 150).map((order) => ({ ...order }));
}

/** The bad route. */
function exportOrders() {
  let csv = '';
  for (const order of orders) csv += `${order.id};${JSON.stringify(order)}\n`;
  return { bytes: csv.length };
}

function answerTo(pricing, url) {
  const [, name, id] = url.split('/');
  if (name === 'products') return product(Number(id) % PRODUCTS);
  if (name === 'offers') return offer(pricing, Number(id) % PRODUCTS);
  if (name === 'cart') return cart(Number(id));
  if (name === 'search') return search(Number(id) % 900);
  if (name === 'export') return exportOrders();
  return undefined;
}

async function handle(pricing, request, response) {
  const answer = await answerTo(pricing, request.url);
  response.statusCode = answer === undefined ? 404 : 200;
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(answer ?? { error: 'not found' }));
}

function fail(response, error) {
  response.statusCode = 500;
  response.end(JSON.stringify({ error: error.message }));
}

function close() {
  fs.rmSync(folder, { recursive: true, force: true });
  process.exit(0);
}

async function main() {
  writeProducts();
  const pricing = await startPricing();
  const server = http.createServer((request, response) => {
    handle(pricing, request, response).catch((error) => fail(response, error));
  });
  server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
    process.stdout.write(`shop: listening on port ${server.address().port}\n`);
  });
  process.once('SIGTERM', close);
  process.once('SIGINT', close);
}

main();
