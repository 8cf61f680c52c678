//! Which slot is whose.

/// The clock by which reservations are served, ns: Windows 2000's, of a millisecond (section 5.4).
pub const SLOT_NS: u64 = 1_000_000;
/// How many there may be at a time.
pub const MAX_RESERVATIONS: usize = 4;
/// The most slots until they repeat; about four seconds.
pub const MAX_SLOTS: u64 = 4_096;

/// What happens to a thread outside its slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It runs at normal priority beside others, as Rialto/NT's did (Tables 1 and 2): periods are powers of two.
    Competing,
    /// It never runs, as with the modified scheduler of section 6.6 (Table 3): any whole millisecond.
    Hard,
}

/// So many ns in every so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// In each period, ns.
    pub budget_ns: u64,
    /// Between two beginnings, ns.
    pub period_ns: u64,
    /// What happens outside its slots.
    pub form: Form,
}

/// Why reservations cannot be granted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The clock has no such time.
    #[error("reservations are whole milliseconds, at least 1 and no more than their period")]
    NotWhole,
    /// Rialto/NT's algorithm.
    #[error(
        "a reservation that competes outside its slots has a period of 1, 2, 4, 8, ... ms; any whole one goes with --hard"
    )]
    NotPowerOfTwo,
    /// No more are served.
    #[error("at most {MAX_RESERVATIONS} reservations at a time")]
    TooMany,
    /// The slots repeat too late.
    #[error("together these periods repeat after more than {MAX_SLOTS} ms")]
    TooLong,
    /// They want more than there is at the right times.
    #[error("there are not enough free slots for reservation {0} beside the others")]
    Full(usize),
    /// Time constraints that were granted would lose their slots.
    #[error("it would take slots that were promised to time constraints")]
    Promised,
}

/// Slots that repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The number of a reservation, from 1 on; 0: nobody's.
    owners: Vec<u8>,
}

impl Default for Plan {
    /// Nobody has a reservation.
    fn default() -> Plan {
        Plan { owners: vec![0] }
    }
}

impl Plan {
    /// Gives each reservation the same slots in each of its periods, those with short periods first: so it gets its budget in
    /// every window of the length of a period, wherever that begins.
    ///
    /// # Errors
    /// What cannot be granted; nothing is granted then.
    pub fn new(shares: &[Share]) -> Result<Plan, PlanError> {
        let numbered: Vec<Option<Share>> = shares.iter().copied().map(Some).collect();
        Plan::default().changed(&numbered)
    }

    /// The plan for these reservations, each by its number. If they fit side by side that way, those that have slots
    /// keep them, and their windows hold across the change; otherwise all get new slots.
    ///
    /// # Errors
    /// What cannot be granted; nothing changes then.
    pub fn changed(&self, shares: &[Option<Share>]) -> Result<Plan, PlanError> {
        if shares.len() > MAX_RESERVATIONS {
            return Err(PlanError::TooMany);
        }
        let mut length = 1;
        for share in shares.iter().flatten() {
            check(share)?;
            let period = share.period_ns / SLOT_NS;
            length = length / greatest_common_divisor(length, period) * period;
            if length > MAX_SLOTS {
                return Err(PlanError::TooLong);
            }
        }
        let mut all: Vec<(usize, Share)> =
            shares.iter().enumerate().filter_map(|(index, share)| Some((index, (*share)?))).collect();
        all.sort_by_key(|(_, share)| share.period_ns);
        let kept: Vec<_> = all.iter().map(|(index, share)| self.offsets_of(*index, share)).collect();
        filled(length as usize, &all, &kept).or_else(|_| filled(length as usize, &all, &vec![None; all.len()]))
    }

    /// Where in its period a reservation has its slots, if it has them.
    fn offsets_of(&self, index: usize, share: &Share) -> Option<Vec<usize>> {
        let (budget, period) = in_slots(share);
        let offsets: Vec<usize> =
            (0..period).filter(|slot| usize::from(self.owner_of(*slot as u64)) == index + 1).collect();
        (offsets.len() == budget && self.owners.len().is_multiple_of(period)).then_some(offsets)
    }

    /// Slots until they repeat.
    pub(crate) fn length(&self) -> u64 {
        self.owners.len() as u64
    }

    /// Whether everybody who had slots in the plan before this one has them still.
    pub(crate) fn keeps(&self, before: &Plan) -> bool {
        let had = (0..self.length()).filter(|slot| before.owner_of(*slot) != 0);
        had.into_iter().all(|slot| before.owner_of(slot) == self.owner_of(slot))
    }

    /// Who owns the slot with this number: a reservation's number, from 1, or 0.
    pub fn owner_of(&self, slot: u64) -> u8 {
        self.owners[(slot % self.owners.len() as u64) as usize]
    }

    /// Whose the time is, in ns since the plan's beginning.
    pub fn owner_at(&self, at_ns: u64) -> u8 {
        self.owner_of(at_ns / SLOT_NS)
    }

    /// When the time becomes somebody else's; `None` if it never does.
    pub fn next_edge(&self, at_ns: u64) -> Option<u64> {
        let slot = at_ns / SLOT_NS;
        let next =
            (slot + 1..=slot + self.owners.len() as u64).find(|next| self.owner_of(*next) != self.owner_of(slot));
        next.map(|next| next * SLOT_NS)
    }
}

/// Slots of each, those that are kept first.
fn filled(length: usize, shares: &[(usize, Share)], kept: &[Option<Vec<usize>>]) -> Result<Plan, PlanError> {
    let mut owners = vec![0; length];
    for ((index, share), offsets) in shares.iter().zip(kept) {
        take(&mut owners, *index, share, offsets.as_deref().unwrap_or_default());
    }
    for ((index, share), _) in shares.iter().zip(kept).filter(|(_, offsets)| offsets.is_none()) {
        let (budget, period) = in_slots(share);
        let is_free = |offset: &usize| owners.iter().skip(*offset).step_by(period).all(|owner| *owner == 0);
        let offsets: Vec<usize> = (0..period).filter(is_free).take(budget).collect();
        if offsets.len() < budget {
            return Err(PlanError::Full(index + 1));
        }
        take(&mut owners, *index, share, &offsets);
    }
    Ok(Plan { owners })
}

/// Gives a reservation the slots at these places in each of its periods.
fn take(owners: &mut [u8], index: usize, share: &Share, offsets: &[usize]) {
    for &offset in offsets {
        owners.iter_mut().skip(offset).step_by(in_slots(share).1).for_each(|owner| *owner = index as u8 + 1);
    }
}

/// Budget and period in slots.
fn in_slots(share: &Share) -> (usize, usize) {
    ((share.budget_ns / SLOT_NS) as usize, (share.period_ns / SLOT_NS) as usize)
}

fn check(share: &Share) -> Result<(), PlanError> {
    let Share { budget_ns, period_ns, form } = *share;
    let is_whole = |ns: u64| ns > 0 && ns.is_multiple_of(SLOT_NS);
    if !is_whole(budget_ns) || !is_whole(period_ns) || budget_ns > period_ns {
        return Err(PlanError::NotWhole);
    }
    if form == Form::Competing && !(period_ns / SLOT_NS).is_power_of_two() {
        return Err(PlanError::NotPowerOfTwo);
    }
    if period_ns / SLOT_NS > MAX_SLOTS { Err(PlanError::TooLong) } else { Ok(()) }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
