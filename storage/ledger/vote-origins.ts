/**
 * Rows of `vote_origins`: parts of the statement by which a flush writes votes (flush.ts), and their end.
 *
 * A vote and its origin are one statement, so neither is there alone. Votes without an origin have no row,
 * and a flush without any has no part of this. Called by flush.ts, partitions.ts and ops/jobs.
 */
import type { OutboxVote } from '../../engine/ports.ts';
import { parseOrigin } from '../../engine/rules/vote-origin.ts';
import { formatNumbers } from '../sql/arrays.ts';
import type { Transaction } from '../sql/client.ts';

const noOrigin = { addressHash: 'NULL', networkHash: 'NULL', agentHash: 'NULL', accountAge: 'NULL' };

export const hasOrigins = (votes: readonly Pick<OutboxVote, 'origin'>[]): boolean =>
  votes.some(({ origin }) => origin !== undefined);

/** Further columns of the votes sent: address_hash, network_hash, agent_hash, account_age. */
export const buildOriginColumns = (sql: Transaction, votes: readonly OutboxVote[]) => {
  const origins = votes.map(({ origin }) => (origin === undefined ? noOrigin : parseOrigin(origin)));
  return sql`,
    ${formatNumbers(origins.map(({ addressHash }) => addressHash))}::bigint[],
    ${formatNumbers(origins.map(({ networkHash }) => networkHash))}::bigint[],
    ${formatNumbers(origins.map(({ agentHash }) => agentHash))}::integer[],
    ${formatNumbers(origins.map(({ accountAge }) => accountAge))}::integer[]`;
};

/** A further step of the statement, after `fresh`. */
export const writeOrigins = (sql: Transaction) => sql`, origin as (
  insert into vote_origins (itag, at, incarnation, author, address_hash, network_hash, agent_hash,
    account_age)
  select itag, created_at, incarnation, author, address_hash, network_hash, agent_hash, account_age
  from fresh where address_hash is not null
)`;
