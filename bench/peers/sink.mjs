// A collector that takes whatever tracing tools send, answers 200 at once and counts the spans.
//
// Without one, exporters retry against a closed port and the tools are measured in a state nobody
// runs them in. Started by `run.mjs` as a process of its own on the core of the load, so that what
// a collector costs is charged to no service. Over IPC: `count` is answered with the counts so far.
import http from 'node:http';

const counts = { requests: 0, bytes: 0, otlpSpans: 0, datadogTraces: 0 };

/** Calls `visit(fieldNumber, bytes)` for each length-delimited field of a protobuf message. */
function eachField(bytes, visit) {
  let at = 0;
  const varint = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at];
      at += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const wire = key & 7;
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else {
      const length = varint();
      visit(Math.floor(key / 8), bytes.subarray(at, at + length));
      at += length;
    }
  }
}

/** Spans of an ExportTraceServiceRequest: field 1 resource spans, 2 scope spans, 2 span. */
function otlpSpans(body) {
  let spans = 0;
  eachField(body, (resource, resourceSpans) => {
    if (resource !== 1) return;
    eachField(resourceSpans, (scope, scopeSpans) => {
      if (scope !== 2) return;
      eachField(scopeSpans, (span) => {
        if (span === 2) spans += 1;
      });
    });
  });
  return spans;
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    counts.requests += 1;
    counts.bytes += body.length;
    if (request.url === '/v1/traces') counts.otlpSpans += otlpSpans(body);
    counts.datadogTraces += Number(request.headers['x-datadog-trace-count'] ?? 0);
    const isOtlp = request.url.startsWith('/v1/');
    response.setHeader('content-type', isOtlp ? 'application/x-protobuf' : 'application/json');
    response.end(isOtlp ? '' : '{"rate_by_service":{"service:,env:":1}}');
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', (message) => {
  if (message === 'count') process.send(counts);
});
process.on('disconnect', () => process.exit(0));
