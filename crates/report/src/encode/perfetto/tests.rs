//! A separate reader for traces, written from the format's description.

use super::*;

/// A field's value.
pub(crate) enum Field<'a> {
    Whole(u64),
    Bytes(&'a [u8]),
}

fn read_varint(data: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = data[0];
        *data = &data[1..];
        value |= u64::from(byte % 128) << shift;
        if byte < 128 {
            return value;
        }
    }
    panic!("a number of more than 64 bits")
}

pub(crate) fn fields(mut data: &[u8]) -> BTreeMap<u64, Vec<Field<'_>>> {
    let mut found: BTreeMap<u64, Vec<Field>> = BTreeMap::new();
    while !data.is_empty() {
        let key = read_varint(&mut data);
        let field = match key % 8 {
            0 => Field::Whole(read_varint(&mut data)),
            2 => {
                let length = read_varint(&mut data) as usize;
                let (value, rest) = data.split_at(length);
                data = rest;
                Field::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        found.entry(key / 8).or_default().push(field);
    }
    found
}

pub(crate) fn number(of: &BTreeMap<u64, Vec<Field>>, field: u64) -> Option<u64> {
    of.get(&field).map(|values| match values[0] {
        Field::Whole(value) => value,
        Field::Bytes(_) => panic!("field {field} is no number"),
    })
}

pub(crate) fn part<'a>(of: &BTreeMap<u64, Vec<Field<'a>>>, field: u64) -> Option<&'a [u8]> {
    of.get(&field).map(|values| match values[0] {
        Field::Bytes(value) => value,
        Field::Whole(_) => panic!("field {field} is a number"),
    })
}

type Fields<'a> = BTreeMap<u64, Vec<Field<'a>>>;

/// The packets of a trace.
fn packets(data: &[u8]) -> Vec<Fields<'_>> {
    messages(&fields(data), 1).collect()
}

/// The messages in a field.
fn messages<'a>(of: &Fields<'a>, field: u64) -> impl Iterator<Item = Fields<'a>> {
    let inside = |value: &Field<'a>| match *value {
        Field::Bytes(value) => fields(value),
        Field::Whole(_) => panic!("a number where a message should be"),
    };
    of.get(&field).into_iter().flatten().map(inside).collect::<Vec<_>>().into_iter()
}

/// The numbers in a field.
fn numbers(of: &Fields<'_>, field: u64) -> impl Iterator<Item = u64> {
    let value = |value: &Field<'_>| match value {
        Field::Whole(value) => *value,
        Field::Bytes(_) => panic!("a message where a number should be"),
    };
    of.get(&field).into_iter().flatten().map(value).collect::<Vec<_>>().into_iter()
}

/// Track, name, begin and end of every slice; slices of a track may hold others inside.
pub(crate) fn slices_of(data: &[u8]) -> Vec<(String, String, u64, u64)> {
    let mut tracks = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    let mut slices = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for packet in &fields(data)[&1] {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        let packet = fields(packet);
        if [1, 2, 66].iter().any(|other| packet.contains_key(other)) {
            continue;
        }
        if let Some(track) = part(&packet, 60) {
            let track = fields(track);
            // A thread's own track has the thread's name.
            let own = part(&track, 4).map(fields);
            let name = own.as_ref().map_or_else(|| part(&track, 2), |own| part(own, 5));
            tracks.insert(number(&track, 1).unwrap(), text(name.unwrap()));
            continue;
        }
        let time = number(&packet, 8).unwrap();
        let event = fields(part(&packet, 11).unwrap());
        let track = number(&event, 11).unwrap();
        match number(&event, 9) {
            Some(1) => open.entry(track).or_default().push((time, text(part(&event, 23).unwrap()))),
            Some(2) => {
                let (start, name) = open.get_mut(&track).and_then(Vec::pop).expect("an end has its begin");
                slices.push((tracks[&track].clone(), name, start, time));
            }
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty));
    slices
}

/// The processes of threads: thread, its name, its process, and the name of that.
pub(crate) fn processes_of(data: &[u8]) -> Vec<(u64, String, u64, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (mut commands, mut threads) = (BTreeMap::new(), Vec::new());
    for packet in &fields(data)[&1] {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        let packet = fields(packet);
        let Some(list) = part(&packet, 2) else { continue };
        let list = fields(list);
        for (field, listed) in
            [1, 2].iter().flat_map(|field| list.get(field).into_iter().flatten().map(move |one| (field, one)))
        {
            let Field::Bytes(listed) = listed else { panic!("what is listed is a message") };
            let listed = fields(listed);
            let own = number(&listed, 1).unwrap();
            match field {
                1 => commands.insert(own, text(part(&listed, 3).unwrap())),
                _ => {
                    threads.push((own, text(part(&listed, 2).unwrap()), number(&listed, 3).unwrap()));
                    None
                }
            };
        }
    }
    threads.into_iter().map(|(tid, name, process)| (tid, name, process, commands[&process].clone())).collect()
}

/// Events that took no time: when, and their names.
pub(crate) fn instants_of(data: &[u8]) -> Vec<(u64, String)> {
    let events = packets(data).into_iter().filter_map(|packet| Some((number(&packet, 8)?, fields(part(&packet, 11)?))));
    let instants = events.filter(|(_, event)| number(event, 9) == Some(3));
    instants.map(|(time, event)| (time, String::from_utf8(part(&event, 23).unwrap().to_vec()).unwrap())).collect()
}

/// Time, CPU, process, thread and stack, the outermost function first.
pub(crate) type Sample = (u64, u64, u64, u64, Vec<String>);

/// The period of samples, and all of them.
pub(crate) fn samples_of(data: &[u8]) -> (Option<u64>, Vec<Sample>) {
    let (mut period, mut samples) = (None, Vec::new());
    // Strings, paths, frames and stacks by number, as earlier packets introduced them.
    let mut texts: [BTreeMap<u64, String>; 2] = Default::default();
    let (mut frames, mut stacks) = (BTreeMap::new(), BTreeMap::new());
    for packet in packets(data) {
        let Some(sample) = part(&packet, 66).map(fields) else { continue };
        assert_eq!((number(&packet, 10), number(&packet, 13)), (Some(2), Some(if samples.is_empty() { 1 } else { 2 })));
        if let Some(defaults) = part(&packet, 59) {
            let timebase = fields(part(&fields(part(&fields(defaults), 12).unwrap()), 1).unwrap());
            period = number(&timebase, 1);
        }
        let interned = part(&packet, 12).map(fields).unwrap_or_default();
        for (field, known) in [5, 17].iter().zip(&mut texts) {
            for string in messages(&interned, *field) {
                let text = String::from_utf8(part(&string, 2).unwrap().to_vec()).unwrap();
                assert!(known.insert(number(&string, 1).unwrap(), text).is_none(), "each once");
            }
        }
        for frame in messages(&interned, 6) {
            let [function, path] = [2, 3].map(|field| number(&frame, field).unwrap());
            let words = format!("/{} {}", texts[1][&path], texts[0][&function]);
            frames.insert(number(&frame, 1).unwrap(), words);
        }
        for stack in messages(&interned, 7) {
            let inside: Vec<String> = numbers(&stack, 2).map(|number| frames[&number].clone()).collect();
            stacks.insert(number(&stack, 1).unwrap(), inside);
        }
        let [cpu, process, tid, stack] = [1, 2, 3, 4].map(|field| number(&sample, field).unwrap());
        samples.push((number(&packet, 8).unwrap(), cpu, process, tid, stacks[&stack].clone()));
    }
    (period, samples)
}

/// What the scheduler did: CPU, time, who ran, and the thread that it switched to or, after `true`, woke.
pub(crate) fn scheduling_of(data: &[u8]) -> Vec<(u64, u64, u64, bool, u64, String)> {
    let mut found = Vec::new();
    for packet in &fields(data)[&1] {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        let packet = fields(packet);
        let Some(bundle) = part(&packet, 1) else { continue };
        let bundle = fields(bundle);
        let event = fields(part(&bundle, 2).unwrap());
        let (cpu, time) = (number(&bundle, 1).unwrap(), number(&event, 1).unwrap());
        let is_waking = event.contains_key(&20);
        let about = fields(part(&event, if is_waking { 20 } else { 4 }).unwrap());
        let (name, tid) = if is_waking { (1, 2) } else { (5, 6) };
        let name = String::from_utf8(part(&about, name).unwrap().to_vec()).unwrap();
        let other = number(&about, tid).unwrap();
        found.push((cpu, time, number(&event, 2).unwrap(), is_waking, other, name));
    }
    found
}

#[test]
fn numbers_of_any_size_are_written() {
    for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
        let mut out = Vec::new();
        varint(&mut out, value);
        let mut rest = out.as_slice();
        assert_eq!(read_varint(&mut rest), value);
        assert!(rest.is_empty());
    }
}
