//! Unsigned LEB128, read from a slice.

use crate::error::Damage;

/// Takes the number at `*at` and moves `*at` behind it. One and two bytes, which nearly all numbers
/// take, need no loop.
#[inline(always)]
pub(crate) fn take(bytes: &[u8], at: &mut usize) -> Result<u64, Damage> {
    match bytes.get(*at..) {
        Some(&[low, ..]) if low < 0x80 => {
            *at += 1;
            Ok(u64::from(low))
        }
        Some(&[low, high, ..]) if high < 0x80 => {
            *at += 2;
            Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
        }
        _ => take_long(bytes, at),
    }
}

#[inline(never)]
fn take_long(bytes: &[u8], at: &mut usize) -> Result<u64, Damage> {
    let mut value = 0u64;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(*at).ok_or(Damage::End)?;
        if shift == 63 && byte > 1 {
            return Err(Damage::Varint);
        }
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
        shift += 7;
    }
}

/// Appends a number to a buffer that may grow.
pub(crate) fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
