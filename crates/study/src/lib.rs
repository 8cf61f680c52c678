//! Plans of several recordings and what is concluded from them.
