/**
 * Creates the ids of votes: UUID version 7, so that their index in SQL stays dense.
 *
 * Random bytes are drawn for many ids at once, since a system call for 16 bytes costs more than the rest of a
 * vote.
 */
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const bytesPerId = 16;
const idsPerDraw = 256;

/** Returns a function that creates ids. No random byte is used twice, also not by another such function. */
export const createVoteIds = (): (() => string) => {
  const randomBytes = new Uint8Array(bytesPerId * idsPerDraw);
  let offset = randomBytes.length;
  return () => {
    if (offset === randomBytes.length) {
      randomFillSync(randomBytes);
      offset = 0;
    }
    const random = randomBytes.subarray(offset, offset + bytesPerId);
    offset += bytesPerId;
    return v7({ random });
  };
};
