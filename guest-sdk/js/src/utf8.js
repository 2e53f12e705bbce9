// UTF-8 by hand: QuickJS has no TextEncoder.

/** The UTF-8 of a text; a lone surrogate becomes U+FFFD. */
export function encode(text) {
  const bytes = [];
  for (const character of text) {
    let code = character.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return Uint8Array.from(bytes);
}

// By the lead byte: how many bytes follow, and what the first of them may be (RFC 3629, section 4).
function sequence(lead) {
  if (lead < 0xc2 || lead > 0xf4) return null;
  if (lead < 0xe0) return [1, 0x80, 0xbf, lead & 31];
  if (lead < 0xf0) return [2, lead === 0xe0 ? 0xa0 : 0x80, lead === 0xed ? 0x9f : 0xbf, lead & 15];
  return [3, lead === 0xf0 ? 0x90 : 0x80, lead === 0xf4 ? 0x8f : 0xbf, lead & 7];
}

/** The text of UTF-8; what is none becomes U+FFFD, as TextDecoder has it. */
export function decode(bytes) {
  const parts = [];
  let units = [];
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at++];
    let code = lead;
    if (lead >= 0x80) {
      code = 0xfffd;
      const found = sequence(lead);
      if (found) {
        let [left, low, high, value] = found;
        while (left > 0 && at < bytes.length && bytes[at] >= low && bytes[at] <= high) {
          value = (value << 6) | (bytes[at++] & 63);
          [left, low, high] = [left - 1, 0x80, 0xbf];
        }
        if (left === 0) code = value;
      }
    }
    units.push(code);
    // Arguments of one call are bounded.
    if (units.length === 4096) {
      parts.push(String.fromCodePoint(...units));
      units = [];
    }
  }
  parts.push(String.fromCodePoint(...units));
  return parts.join("");
}
