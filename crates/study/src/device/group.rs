//! The parts of the study.

/// What a point of the study asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// What the bystander meets without a device (Figure 10).
    Control,
    /// The four contexts, alone and beside competitors (Figures 2 to 8 and 10 to 16).
    Contexts,
    /// Thread priorities from low to high beside a spinning competitor (sections 6.2.5 and 6.2.6).
    Priorities,
    /// Reservations that compete outside their time, beside a spinning competitor (Table 1).
    Competing,
    /// Reservations that never run outside their slots, beside a spinning competitor (Table 3).
    Slots,
}

impl Group {
    /// All groups in order.
    pub const ALL: [Group; 5] = [Group::Control, Group::Contexts, Group::Priorities, Group::Competing, Group::Slots];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Group::Control => "control",
            Group::Contexts => "contexts",
            Group::Priorities => "priorities",
            Group::Competing => "competing",
            Group::Slots => "slots",
        }
    }
}
