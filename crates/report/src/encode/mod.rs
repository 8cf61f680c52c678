//! Formats of others: pages, traces, pictures.

pub(crate) mod csv;
pub(crate) mod head;
pub mod html;
pub mod perfetto;
pub(crate) mod plain_page;
pub(crate) mod svg;
