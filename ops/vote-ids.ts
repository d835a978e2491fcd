/**
 * The ids of votes: UUID version 7, so that their index in SQL stays dense.
 *
 * Random bytes are drawn for many ids at once: asking the system for sixteen costs more than the rest of a
 * vote's item. Called by the composition root.
 */
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const bytesPerId = 16;
const idsPerDraw = 256;

/** Makes ids. No two sources share random bytes, and none is used twice. */
export const createVoteIds = (): (() => string) => {
  const drawn = new Uint8Array(bytesPerId * idsPerDraw);
  let next = drawn.length;
  return () => {
    if (next === drawn.length) {
      randomFillSync(drawn);
      next = 0;
    }
    const random = drawn.subarray(next, next + bytesPerId);
    next += bytesPerId;
    return v7({ random });
  };
};
