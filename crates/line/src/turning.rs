//! Something that turns by the same angle with each sample.

/// A point on the circle of radius 1 that begins at (1, 0).
#[derive(Debug, Clone)]
pub(crate) struct Turning {
    step: (f64, f64),
    turned: (f64, f64),
    count: u32,
}

impl Turning {
    /// One that turns by this angle, at most 0.1 either way.
    pub(crate) fn by(angle: f64) -> Turning {
        let square = angle * angle;
        // Small enough for the series to be exact to the last bits.
        let cosine = 1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0));
        let sine = angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)));
        Turning { step: (cosine, sine), turned: (1.0, 0.0), count: 0 }
    }

    /// Where it is now; then it turns.
    pub(crate) fn next(&mut self) -> (f64, f64) {
        let ((x, y), (cosine, sine)) = (self.turned, self.step);
        self.turned = (x * cosine - y * sine, x * sine + y * cosine);
        self.count += 1;
        if self.count == 1_024 {
            self.count = 0;
            let (x, y) = self.turned;
            let length = (x * x + y * y).sqrt();
            self.turned = (x / length, y / length);
        }
        (x, y)
    }
}
