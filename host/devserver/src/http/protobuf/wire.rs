//! Protobuf wire format: numbered fields with a few kinds of payload.

use super::{Error, Result};

/// The payload of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    /// A text, bytes or a message.
    Bytes(&'a [u8]),
}

const TRUNCATED: Error = Error::Wire("unexpected EOF");

/// The fields of a message in the order of the bytes; iteration ends after an error.
pub(super) fn fields(mut rest: &[u8]) -> impl Iterator<Item = Result<(u32, Payload<'_>)>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

/// Packed numbers.
pub(super) fn varints(mut rest: &[u8]) -> impl Iterator<Item = Result<u64>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let number = varint(&mut rest);
        if number.is_err() {
            rest = &[];
        }
        Some(number)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u32, Payload<'a>)> {
    let tag = varint(rest)?;
    let number = u32::try_from(tag >> 3).ok().filter(|n| *n > 0).ok_or(Error::Wire("illegal tag"))?;
    let payload = match tag & 7 {
        0 => Payload::Varint(varint(rest)?),
        1 => {
            let (bytes, after) = rest.split_first_chunk::<8>().ok_or(TRUNCATED)?;
            *rest = after;
            Payload::Fixed64(u64::from_le_bytes(*bytes))
        }
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_too_long| TRUNCATED)?;
            let (bytes, after) = rest.split_at_checked(length).ok_or(TRUNCATED)?;
            *rest = after;
            Payload::Bytes(bytes)
        }
        5 => {
            let (_, after) = rest.split_first_chunk::<4>().ok_or(TRUNCATED)?;
            *rest = after;
            Payload::Fixed32
        }
        _ => return Err(Error::Wire("illegal wireType")),
    };
    Ok((number, payload))
}

fn varint(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or(TRUNCATED)?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Error::Wire("integer overflow"))
}
