//! What must hold of any bytes that a client sends: the body of the fuzz targets and of a test.

use bobtail_daemon::protocol::{Answer, MAX_FRAME_BYTES, Request};

use super::desk::{Desk, PEER, config, settings};

/// A frame has one spelling: what is decoded is encoded to the same bytes. Whether it was one.
pub fn frame(bytes: &[u8]) -> bool {
    if let Ok((answer, sequence)) = Answer::decode(bytes) {
        assert_eq!(answer.encode(sequence).bytes(), bytes);
        return true;
    }
    let Ok((request, sequence, is_silent)) = Request::decode(bytes) else {
        return false;
    };
    assert!(bytes.len() <= MAX_FRAME_BYTES);
    assert_eq!(request.encode(sequence, is_silent).bytes(), bytes);
    true
}

/// Datagrams of two clients and pauses between them: the daemon answers or ends the connection,
/// and when both are gone no lever has moved. How many datagrams got no refusal.
///
/// Each datagram is led by a byte: its lowest bit the client, the next four the length in words
/// of two bytes, the others a pause of so many times 200 ms.
pub fn session(mut bytes: &[u8]) -> usize {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let clients = [desk.join(), desk.service.admit(PEER, desk.now).unwrap()];
    let mut taken = 0;
    while let Some((&lead, rest)) = bytes.split_first() {
        let length = (usize::from(lead >> 1 & 15) * 2).min(rest.len());
        let (datagram, rest) = rest.split_at(length);
        bytes = rest;
        desk.pass(std::time::Duration::from_millis(u64::from(lead >> 5) * 200));
        let client = clients[usize::from(lead & 1)];
        let reply = desk.service.receive(client, datagram, desk.now);
        let answer = reply
            .frame
            .map(|frame| Answer::decode(frame.bytes()).unwrap().0);
        taken += usize::from(!matches!(answer, Some(Answer::Refused { .. })));
        if reply.ends {
            desk.service.leave(client, desk.now);
        }
    }
    for client in clients {
        desk.service.leave(client, desk.now);
    }
    assert_eq!(settings(&desk.kernel), before);
    taken
}
