/** A server that speaks the protocol of MySQL (by `mysql2`) and answers each query after 3 ms. */
const mysql = require('mysql2');

const server = mysql.createServer();
let threads = 0;
server.on('connection', (connection) => {
  connection.serverHandshake({
    protocolVersion: 10,
    serverVersion: '8.0.0',
    connectionId: ++threads,
    statusFlags: 2,
    characterSet: 8,
    capabilityFlags: 0xffffff ^ 0x800,
    authCallback: (_packet, done) => done(null, null),
  });
  const answer = () => {
    // Each command counts its packets anew; this server half of mysql2 would go on counting.
    connection.sequenceId = 1;
    connection.writeOk('1');
    connection._resetSequenceId();
  };
  connection.on('query', () => setTimeout(answer, 3));
  connection.on('error', () => connection.close());
});
server.listen(0, '127.0.0.1');
server._server.on('listening', () => process.send(server._server.address().port));
process.on('disconnect', () => process.exit(0));
