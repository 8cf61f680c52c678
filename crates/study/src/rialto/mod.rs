//! Commands with Rialto/NT's reservations, and time constraints by chance.

mod constraints;
mod run;

pub use constraints::{Asked, ConstraintsPlan, constraints};
pub use run::{Rialto, RialtoError, RialtoPlan, run};

use punctual_context::rialto::{Client, Scheduler};
use punctual_kernel::Refused;

/// A connection to the process that serves: this one, with a scheduler of its own, where there is no other.
fn serving() -> Result<(Client, Option<Scheduler>), Refused> {
    // Whoever serves has looked whether this machine can be served.
    if let Some(client) = Client::connect()? {
        return Ok((client, None));
    }
    let scheduler = Scheduler::start()?;
    let client = Client::connect()?;
    let client = client.ok_or_else(|| Refused::because("asking for a reservation", "the scheduler does not listen"))?;
    Ok((client, Some(scheduler)))
}
