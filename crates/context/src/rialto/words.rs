//! What whoever wants time says to the serving process, and what that answers: a line each.

use punctual_rialto::{Form, Share};

/// What is asked for. One connection stands for one reservation and one time constraint at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// `reserve PROCESS BUDGET_NS PERIOD_NS hard|competing [NAME]`
    Reserve { process: u32, share: Share, name: String },
    /// `release`
    Release,
    /// `constrain THREAD ESTIMATE_NS DEADLINE_NS`, the deadline on the monotonic clock
    Constrain { thread: u32, estimate_ns: u64, deadline_ns: u64 },
    /// `end`
    End,
}

/// No more of a request than this is read, bytes.
pub(super) const MAX_LINE: usize = 256;

impl Request {
    pub(super) fn parse(line: &str) -> Option<Request> {
        let mut words = line.splitn(6, ' ');
        let first = words.next()?;
        let mut number = || words.next()?.parse::<u64>().ok();
        match first {
            "reserve" => {
                let (process, budget_ns, period_ns) = (u32::try_from(number()?).ok()?, number()?, number()?);
                let form = match words.next()? {
                    "hard" => Form::Hard,
                    "competing" => Form::Competing,
                    _ => return None,
                };
                let name = words.next().unwrap_or_default().to_owned();
                Some(Request::Reserve { process, share: Share { budget_ns, period_ns, form }, name })
            }
            "constrain" => {
                let (thread, estimate_ns, deadline_ns) = (u32::try_from(number()?).ok()?, number()?, number()?);
                words.next().is_none().then_some(Request::Constrain { thread, estimate_ns, deadline_ns })
            }
            "release" => words.next().is_none().then_some(Request::Release),
            "end" => words.next().is_none().then_some(Request::End),
            _ => None,
        }
    }

    pub(super) fn line(&self) -> String {
        match self {
            Request::Reserve { process, share: Share { budget_ns, period_ns, form }, name } => {
                let form = if *form == Form::Hard { "hard" } else { "competing" };
                format!("reserve {process} {budget_ns} {period_ns} {form} {name}").trim_end().to_owned()
            }
            Request::Release => "release".to_owned(),
            Request::Constrain { thread, estimate_ns, deadline_ns } => {
                format!("constrain {thread} {estimate_ns} {deadline_ns}")
            }
            Request::End => "end".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        let share = Share { budget_ns: 2_000_000, period_ns: 8_000_000, form: Form::Hard };
        let requests = [
            Request::Reserve { process: 7, share, name: String::new() },
            Request::Reserve { process: 7, share: Share { form: Form::Competing, ..share }, name: "a b".to_owned() },
            Request::Release,
            Request::Constrain { thread: 9, estimate_ns: 1, deadline_ns: u64::MAX },
            Request::End,
        ];
        for request in requests {
            assert_eq!(Request::parse(&request.line()), Some(request));
        }
        for wrong in
            ["", "reserve", "reserve 1 2 3", "reserve 1 2 3 soft", "reserve -1 2 3 hard", "constrain 1 2", "end 1", "x"]
        {
            assert_eq!(Request::parse(wrong), None, "{wrong}");
        }
    }
}
