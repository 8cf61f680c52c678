//! Every interface to Linux.
