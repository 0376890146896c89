// The same slow read with promises, in an ES module.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { SlowFiles, writtenNs } from '../plant/slow-files.cjs';
import truth from '../plant/truth.cjs';

const files = new SlowFiles(['invoice.dat']);

async function slow(planted, response) {
  planted.resource('opening', `fs.open ${files.path('invoice.dat')}`);
  planted.resource('reading', `fs.read ${files.path('invoice.dat')}`);
  planted.note('open');
  const opening = open(files.path('invoice.dat'), constants.O_RDWR);
  planted.note('openEnd');
  const handle = await opening;
  planted.note('opened');
  files.fillAfter('invoice.dat', 40);
  planted.note('read');
  const reading = handle.read(Buffer.alloc(200), 0, 200, null);
  planted.note('readEnd');
  const { bytesRead, buffer } = await reading;
  planted.note('done');
  planted.set('written', writtenNs(buffer.subarray(0, bytesRead)));
  planted.answer(response);
  await handle.close();
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') slow(planted, response);
  else planted.answer(response);
});
truth.listen(server);
