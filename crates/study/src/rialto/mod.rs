//! Commands with Rialto/NT's reservations, and random time constraints.

mod constraints;
mod run;

pub use constraints::{Asked, ConstraintsPlan, constraints};
pub use run::{Rialto, RialtoError, RialtoPlan, run};

use punctual_context::rialto::{Client, Scheduler};
use punctual_kernel::Refused;

/// A connection to the serving process: this one, with a scheduler of its own, if there is no other.
fn serving() -> Result<(Client, Option<Scheduler>), Refused> {
    // A serving process has checked that this machine can be served.
    if let Some(client) = Client::connect()? {
        return Ok((client, None));
    }
    let scheduler = Scheduler::start()?;
    let client = Client::connect()?;
    let client = client.ok_or_else(|| Refused::because("asking for a reservation", "the scheduler does not listen"))?;
    Ok((client, Some(scheduler)))
}
