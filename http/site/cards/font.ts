/**
 * Which characters the font of the cards has: its table `cmap`, format 4 (ISO/IEC 14496-22). Pure.
 */

/** Finds the table of Unicode's first plane. Throws if the file is no font that has one. */
const findTable = (font: Buffer): Buffer => {
  for (let at = 12; at < 12 + 16 * font.readUInt16BE(4); at += 16) {
    if (font.toString('latin1', at, at + 4) !== 'cmap') continue;
    const cmap = font.subarray(font.readUInt32BE(at + 8));
    for (let entry = 4; entry < 4 + 8 * cmap.readUInt16BE(2); entry += 8) {
      const table = cmap.subarray(cmap.readUInt32BE(entry + 4));
      if (cmap.readUInt32BE(entry) === 0x0003_0001 && table.readUInt16BE(0) === 4) return table;
    }
  }
  throw new Error('the font of the cards has no table of characters');
};

/** Reads the code points that have a glyph. */
export const readCharacters = (font: Buffer): ReadonlySet<number> => {
  const table = findTable(font);
  const found = new Set<number>();
  const size = table.readUInt16BE(6);
  for (let at = 14; at < 14 + size; at += 2) {
    const start = table.readUInt16BE(at + 2 + size);
    const delta = table.readUInt16BE(at + 2 + 2 * size);
    const rangeAt = at + 2 + 3 * size;
    const range = table.readUInt16BE(rangeAt);
    for (let code = start; code <= table.readUInt16BE(at) && code !== 0xffff; code++) {
      const glyph = range === 0 ? code + delta : table.readUInt16BE(rangeAt + range + 2 * (code - start));
      if (glyph % 0x1_0000 !== 0) found.add(code);
    }
  }
  return found;
};
