//! What keeps the machine busy during a measurement.
