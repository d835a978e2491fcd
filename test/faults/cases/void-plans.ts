/**
 * Past votes in SQL, and a plan that voids them through any node, for the cases of plans.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../bench/shared/http-client.ts';
import type { EntityKind } from '../../../engine/ids.ts';
import type { Sql, Transaction } from '../../../storage/sql/client.ts';
import { operate } from '../harness/operate.ts';

/** A node that answers now; another one after each kill. */
export type FindNode = () => Promise<{ readonly url: string; readonly adminUrl: string }>;

export interface ShownPlan {
  readonly plan: string;
  readonly state: string;
  readonly votes: number;
  readonly done: number;
  readonly voided: number;
  readonly restored: number;
  readonly left_out: Readonly<Record<string, number>>;
}

/** Runs statements that may take longer than those of requests. */
export const slowly = <Result>(
  sql: Sql,
  task: (transaction: Transaction) => Promise<Result>,
): Promise<Result> =>
  sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    return task(transaction);
  }) as Promise<Result>;

/**
 * Writes so many upvotes of ten days ago for each listing, each of a voter of its own, and counts them. No
 * node may know the listings yet.
 */
export const addPastVotes = async (
  sql: Sql,
  ids: readonly string[],
  votes: number,
  kind: EntityKind = 'bot',
): Promise<void> =>
  slowly(sql, async (transaction) => {
    await transaction`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), now() - interval '10 days' - number * interval '1 millisecond', incarnation,
      kind, entity_id, 'farm' || number, true, 0
    from totals cross join generate_series(1, ${votes}::int) as number
    where kind = ${kind} and entity_id = any(${[...ids]})`;
    await transaction`
    update totals set upvotes = upvotes + ${votes} where kind = ${kind} and entity_id = any(${[...ids]})`;
  });

const ask = async (
  { client, findNode }: { readonly client: Client; readonly findNode: FindNode },
  line: string,
  body?: object,
): Promise<ShownPlan> => {
  for (let attempt = 0; ; attempt++) {
    try {
      const [method = '', path = ''] = line.split(' ');
      const node = await findNode();
      const answer = await operate({ client }, { node } as never, {
        method: method as 'GET' | 'POST',
        path,
        ...(body && { body }),
      });
      if (answer.status === 200) return JSON.parse(answer.text);
      if (answer.status < 500 || attempt === 100) throw new Error(`${line}: ${answer.status} ${answer.text}`);
    } catch (error) {
      // The node was killed before its answer.
      if (attempt === 100 || (error as Error).message.startsWith(line)) throw error;
    }
    await sleep(50);
  }
};

/** Makes a plan of the votes for these bots that `addPastVotes` wrote, and waits until it is planned. */
export const createPlans = (parts: { readonly client: Client; readonly findNode: FindNode }) => {
  const finish = async (first: ShownPlan): Promise<ShownPlan> => {
    let plan = first;
    while (['planning', 'voiding', 'undoing'].includes(plan.state)) {
      await sleep(20);
      plan = await ask(parts, `GET /votes/void/${plan.plan}`);
    }
    return plan;
  };
  const past = {
    since: new Date(Date.now() - 20 * 86_400_000).toISOString(),
    before: new Date(Date.now() - 5 * 86_400_000).toISOString(),
    reason: 'A farm.',
  };
  return {
    finish,
    make: async (query: object = {}) =>
      finish(await ask(parts, 'POST /votes/void?dry_run=true', { ...past, ...query })),
    start: ({ plan }: ShownPlan) => ask(parts, 'POST /votes/void', { plan }),
    undo: ({ plan }: ShownPlan) => ask(parts, `POST /votes/void/${plan}/undo`),
  };
};

/** The votes that a bot shows at the node. */
export const readVotes = async (
  client: Client,
  { url }: { readonly url: string },
  bot: string,
): Promise<number> => {
  const { status, text } = await client.ask(`${url}/bots/${bot}`, {});
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text).votes;
};
