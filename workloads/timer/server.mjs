// Routes that wait for one timer: the callback kind, the promise kind, and one made from the other.
import { createServer } from 'node:http';
import { setTimeout as later } from 'node:timers/promises';
import truth from '../plant/truth.cjs';

const WAIT_MS = 30;

function due(planted) {
  planted.set('due', planted.marks.wait + WAIT_MS * 1e6);
}

const routes = {
  '/callback': (planted, response) => {
    planted.note('wait');
    setTimeout(() => {
      planted.note('woke');
      due(planted);
      planted.answer(response);
    }, WAIT_MS);
    planted.note('waitEnd');
  },
  '/promise': async (planted, response) => {
    planted.note('wait');
    const pending = later(WAIT_MS);
    planted.note('waitEnd');
    await pending;
    planted.note('woke');
    due(planted);
    planted.answer(response);
  },
  '/wrapped': async (planted, response) => {
    planted.note('wait');
    const pending = new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    planted.note('waitEnd');
    await pending;
    planted.note('woke');
    due(planted);
    planted.answer(response);
  },
};

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  const route = routes[request.url];
  if (route) route(planted, response);
  else planted.answer(response);
});
truth.listen(server);
