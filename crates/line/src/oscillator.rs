//! A complex oscillator: its phase advances by the same angle with each sample.

/// A point on the unit circle, cosine and sine, that begins at (1, 0).
#[derive(Debug, Clone)]
pub(crate) struct Oscillator {
    step: (f64, f64),
    point: (f64, f64),
    count: u32,
}

impl Oscillator {
    /// One that turns by this angle with each sample, in radians, at most 0.1 either way.
    pub(crate) fn by(angle: f64) -> Oscillator {
        let square = angle * angle;
        // Small enough for the series to be exact to the last bits.
        let cosine = 1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0));
        let sine = angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)));
        Oscillator { step: (cosine, sine), point: (1.0, 0.0), count: 0 }
    }

    /// Where it is now; then it turns.
    pub(crate) fn next(&mut self) -> (f64, f64) {
        let ((x, y), (cosine, sine)) = (self.point, self.step);
        self.point = (x * cosine - y * sine, x * sine + y * cosine);
        self.count += 1;
        if self.count == 1_024 {
            // Rounding moves it off the circle.
            self.count = 0;
            let (x, y) = self.point;
            let length = (x * x + y * y).sqrt();
            self.point = (x / length, y / length);
        }
        (x, y)
    }
}
