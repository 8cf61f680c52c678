//! Activations of soft devices.

pub(crate) mod files;
