//! Tables of devices, grouped by origin.

use punctual_device::Profile;

/// Whether these devices come from several origins, so that each has to say from which.
pub(crate) fn are_of_several_origins<'a>(profiles: impl Iterator<Item = &'a Profile>) -> bool {
    let mut origins = profiles.map(|profile| profile.origin);
    let first = origins.next();
    origins.any(|origin| Some(origin) != first)
}

/// The rows of a table of devices, with a line above each origin if there are several.
pub(crate) fn under_origins<'a>(
    profiles: impl Iterator<Item = &'a Profile>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Vec<Vec<String>> {
    let (mut under, mut origins, mut before) = (Vec::new(), 0, None);
    for (profile, row) in profiles.zip(rows) {
        if before.replace(profile.origin) != Some(profile.origin) {
            origins += 1;
            under.push(vec![format!("{}:", profile.origin.whose())]);
        }
        under.push(row);
    }
    if origins == 1 {
        under.remove(0);
    }
    under
}
