//! To which local socket another one is connected: `/proc/net/unix` lists both, and does not say that they belong together.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use std::os::fd::OwnedFd;

/// What is asked, by the names of `linux/netlink.h`, `linux/sock_diag.h` and `linux/unix_diag.h`: about a socket of a family, for its
/// peer, whatever its state and whichever socket has had its inode.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_UNIX: u8 = 1;
const NLM_F_REQUEST: u16 = 1;
const UDIAG_SHOW_PEER: u32 = 4;
const ANY: u32 = u32::MAX;
/// The length of that, bytes.
const REQUEST_BYTES: u32 = 40;
/// Where an answer has the socket's inode, and where its attributes begin, bytes.
const INODE_AT: usize = 20;
const ATTRIBUTES_AT: usize = 32;
/// The attribute with the peer's inode, and its length, bytes.
const UNIX_DIAG_PEER: u16 = 2;
const PEER_BYTES: usize = 8;
/// How many answers are read at most: there is one for each question, and one may be left of the question before.
const MAX_ANSWERS: usize = 8;

/// Asks the kernel for the other ends of local sockets, in this process's network namespace.
#[derive(Debug)]
pub struct UnixPeers(OwnedFd);

impl UnixPeers {
    /// `None` if this kernel cannot be asked.
    pub fn open() -> Option<UnixPeers> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG));
        socket.ok().map(UnixPeers)
    }

    /// The inode of the socket at the other end; `None` if there is none, or that is not known: a kernel without `CONFIG_UNIX_DIAG`, a
    /// socket of another network namespace.
    pub fn of(&self, inode: u32) -> Option<u32> {
        send(&self.0, &request(inode), SendFlags::empty()).ok()?;
        // The kernel has answered by now. What may be left of another question is read and dropped.
        let mut found = None;
        for _ in 0..MAX_ANSWERS {
            let mut answer = [0_u8; 512];
            let Ok((_, length)) = recv(&self.0, &mut answer[..], RecvFlags::empty()) else { break };
            found = answer.get(..length).and_then(|answer| peer_in(answer, inode)).or(found);
        }
        found
    }
}

fn request(inode: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST_BYTES as usize);
    bytes.extend(REQUEST_BYTES.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // A number of the question, and who asks.
    bytes.extend([0; 8]);
    bytes.extend([AF_UNIX, 0, 0, 0]);
    for word in [ANY, inode, UDIAG_SHOW_PEER, ANY, ANY] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

/// The peer of the socket with this inode, if the answer is about that and has one.
fn peer_in(answer: &[u8], inode: u32) -> Option<u32> {
    let short_at = |at: usize| Some(u16::from_ne_bytes(answer.get(at..)?.first_chunk().copied()?));
    let word_at = |at: usize| Some(u32::from_ne_bytes(answer.get(at..)?.first_chunk().copied()?));
    if short_at(4)? != SOCK_DIAG_BY_FAMILY || word_at(INODE_AT)? != inode {
        return None;
    }
    let mut at = ATTRIBUTES_AT;
    loop {
        let (length, kind) = (usize::from(short_at(at)?), short_at(at + 2)?);
        if (kind, length) == (UNIX_DIAG_PEER, PEER_BYTES) {
            return word_at(at + 4).filter(|peer| *peer != 0);
        }
        // Shorter than its own beginning: it is no attribute.
        if length < 4 {
            return None;
        }
        at += length.next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// An answer about a socket with these attributes: their kinds and what they hold.
    fn answer(inode: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes =
            [&[0; 4][..], &SOCK_DIAG_BY_FAMILY.to_ne_bytes(), &[0; 14], &inode.to_ne_bytes(), &[0; 8]].concat();
        for (kind, held) in attributes {
            bytes.extend((held.len() as u16 + 4).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(*held);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn a_peer_is_an_attribute_among_others() {
        let peer = 77_u32.to_ne_bytes();
        assert_eq!(peer_in(&answer(5, &[(UNIX_DIAG_PEER, &peer), (5, &[0])]), 5), Some(77));
        assert_eq!(peer_in(&answer(5, &[(6, &[0]), (0, b"/run/api"), (UNIX_DIAG_PEER, &peer)]), 5), Some(77));
        assert_eq!(peer_in(&answer(5, &[(6, &[0])]), 5), None, "it is not connected");
        assert_eq!(peer_in(&answer(5, &[(UNIX_DIAG_PEER, &[0; 4])]), 5), None, "the peer is closed");
        assert_eq!(peer_in(&answer(6, &[(UNIX_DIAG_PEER, &peer)]), 5), None, "of another socket");
        let mut error = answer(5, &[(UNIX_DIAG_PEER, &peer)]);
        error[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(peer_in(&error, 5), None, "an error");
        // Cut anywhere, or with a length of nothing.
        let whole = answer(5, &[(UNIX_DIAG_PEER, &peer)]);
        assert!((0..whole.len()).all(|length| peer_in(&whole[..length], 5).is_none()));
        let mut none = whole;
        none[ATTRIBUTES_AT..ATTRIBUTES_AT + 2].copy_from_slice(&[0; 2]);
        assert_eq!(peer_in(&none, 5), None);
    }

    #[test]
    fn the_other_end_of_a_pair_is_told() {
        let (one, other) = UnixStream::pair().unwrap();
        let inode = |stream: &UnixStream| rustix::fs::fstat(stream).unwrap().st_ino as u32;
        let Some(peers) = UnixPeers::open() else {
            return punctual_testing::skip("the other end of a pair", "no netlink socket of this kind");
        };
        let Some(found) = peers.of(inode(&one)) else {
            return punctual_testing::skip("the other end of a pair", "this kernel does not tell (CONFIG_UNIX_DIAG)");
        };
        assert_eq!(found, inode(&other));
        assert_eq!(peers.of(inode(&other)), Some(inode(&one)));
        drop(other);
        assert_eq!(peers.of(inode(&one)), None, "it is closed");
        assert_eq!(peers.of(u32::MAX), None, "there is none");
    }
}
