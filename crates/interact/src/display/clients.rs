//! Which windows of a display belong to a program.

use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::res::{ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// How many windows are watched, and how deep they may be below the screen: window managers put others around them.
pub(crate) const MAX_WINDOWS: usize = 4_096;
pub(crate) const MAX_DEPTH: usize = 8;
/// A program's connection to the server: what belongs to it has these bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    base: u32,
    mask: u32,
}

impl Client {
    /// Its number to the server.
    pub(crate) fn number(&self) -> u32 {
        self.base
    }

    /// Whether something with this number is theirs.
    pub(crate) fn owns(&self, id: u32) -> bool {
        id & !self.mask == self.base
    }
}

/// The connections of these processes.
pub(crate) fn clients_of(control: &RustConnection, processes: &[u32]) -> Result<Vec<Client>, ReplyOrIdError> {
    control.res_query_version(1, 2)?.reply()?;
    let clients = control.res_query_clients()?.reply()?.clients;
    let all = ClientIdSpec { client: 0, mask: ClientIdMask::LOCAL_CLIENT_PID };
    let ids = control.res_query_client_ids(&[all])?.reply()?.ids;
    let is_theirs = |base: u32, mask: u32| {
        ids.iter().any(|id| id.spec.client & !mask == base && id.value.iter().any(|pid| processes.contains(pid)))
    };
    let clients = clients.iter().filter(|client| is_theirs(client.resource_base, client.resource_mask));
    Ok(clients.map(|client| Client { base: client.resource_base, mask: client.resource_mask }).collect())
}

/// The uppermost windows of these clients below the screen.
pub(crate) fn windows_of(control: &RustConnection, root: u32, clients: &[Client]) -> Result<Vec<u32>, ReplyOrIdError> {
    let (mut found, mut level, mut looked_at) = (Vec::new(), vec![root], 0);
    for _ in 0..MAX_DEPTH {
        let mut below = Vec::new();
        for window in level {
            // It may be gone by now.
            let Ok(tree) = control.query_tree(window)?.reply() else { continue };
            looked_at += tree.children.len();
            for child in tree.children {
                if clients.iter().any(|client| client.owns(child)) { found.push(child) } else { below.push(child) }
            }
            if looked_at > MAX_WINDOWS {
                return Ok(found);
            }
        }
        level = below;
    }
    Ok(found)
}
