/**
 * Bodies of stats posts that tell which post they are, and which post a reply shows. Pure.
 */

/** Far beyond 2^53, so that a rounded digit shows; 2^64 less room for ids that count from a date. */
const usersBase = 18_446_700_000_000_000_000n;

/**
 * The fields of post `id`: each contains the id, so fields of two posts never fit together. `isPlain`: for
 * servers that have neither so large numbers nor lists.
 */
export const buildStatsBody = (id: number, isPlain = false): string =>
  isPlain
    ? `{"servers":${id},"shards":${id + 1},"users":${id + 2},"status":"online"}`
    : `{"servers":${id},"shards":${id + 1},"users":${usersBase + BigInt(id)},` +
      `"shard_list":[${id},${id + 2}],"status":"online"}`;

/** Digits as they stand in the text: parsing would round them. */
export const readDigits = (text: string, name: string): string =>
  new RegExp(`"${name}":(?:(\\d+)|\\[([\\d,]*)\\])`).exec(text)?.slice(1).join('') ?? '';

/** The post whose fields a bot shows, 0 for none, `null` for a mix. */
export const findPostShown = (text: string): number | null => {
  const id = Number(readDigits(text, 'servers'));
  const shown = ['shards', 'users', 'shard_list'].map((name) => readDigits(text, name)).join(' ');
  if (id === 0) return shown === '0 0 ' ? 0 : null;
  const whole = [`${id + 1} ${usersBase + BigInt(id)} ${id},${id + 2}`, `${id + 1} ${id + 2} `];
  return whole.includes(shown) ? id : null;
};
