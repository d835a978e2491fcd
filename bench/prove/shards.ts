/**
 * Posts of shards whose sum shows which post of each shard it has: each shard counts its posts in digits of
 * its own.
 */
import type { Client } from '../shared/http-client.ts';
import { askPatiently } from './patient.ts';
import { readDigits } from './post-body.ts';

/** How many shards a bot has. */
export const parts = 3;
/** A shard's servers stay below 2^39, and the sum below 2^53. */
const turnsBase = 2 ** 13;

/** The turn of a shard's post, from 2, because 1 is that of `postAllParts`; they repeat after 8,190. */
export const toTurn = (number: number): number => (number % (turnsBase - 2)) + 2;

/** The body of a post with the turns of these shards. */
export const buildShardsBody = (turns: Readonly<Record<number, number>>): string =>
  JSON.stringify({
    shard_count: parts,
    shards: Object.entries(turns).map(([id, turn]) => ({
      id: Number(id),
      servers: turn * turnsBase ** Number(id),
      users: turn,
    })),
  });

/** The turn of each shard in a bot's total; `null` when the text has none. */
export const readParts = (text: string): readonly number[] | null => {
  const digits = readDigits(text, 'servers');
  if (digits === '') return null;
  const sum = Number(digits);
  return Array.from({ length: parts }, (_, id) => Math.floor(sum / turnsBase ** id) % turnsBase);
};

/** The first post, of all shards with turn 1; false when the server has no shards. */
export const postAllParts = async (client: Client, url: string, token: string): Promise<boolean> => {
  const turns = Object.fromEntries(Array.from({ length: parts }, (_, id) => [id, 1]));
  const headers = { 'Bot-Auth': token, 'Content-Type': 'application/json' };
  const answer = await askPatiently(client, `${url}/bots/stats/shards`, {
    method: 'POST',
    headers,
    body: buildShardsBody(turns),
  });
  return answer.status === 200;
};
