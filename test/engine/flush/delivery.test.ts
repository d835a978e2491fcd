/**
 * Delivery of adjustments and edited facts from the ledger to the hot store.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AdjustItem, Decision, Item } from '../../../engine/entity/items.ts';
import { createNotAppliedError, DomainError } from '../../../engine/errors.ts';
import {
  type DeliveryParts,
  deliverAdjustments,
  deliverAdjustmentsOf,
  deliverEdits,
} from '../../../engine/flush/delivery.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { Adjustment, Ledger } from '../../../engine/ports.ts';
import { createLedgerModel } from '../../model/ledger-model.ts';
import { botRef } from '../kit.ts';

const test = suite('delivery');

const adjust = (id: number, target: EntityRef, sequence: number): Adjustment => ({
  id,
  item: {
    kind: 'adjust',
    target,
    sequence,
    upvotes: -1,
    downvotes: 0,
    releaseBeforeMs: 0,
    release: [],
    pinned: [],
  },
});

interface World {
  readonly sent: string[];
  readonly delivered: number[];
  readonly ledger: Pick<Ledger, 'listAdjustments' | 'markAdjustmentsDelivered'>;
  decide: (item: Item) => Decision;
}

const createWorld = (open: readonly Adjustment[]): World => {
  const delivered: number[] = [];
  return {
    sent: [],
    delivered,
    decide: () => ({ kind: 'applied' }),
    ledger: {
      listAdjustments: async (limit, scope) =>
        open
          .filter(({ id }) => !delivered.includes(id) && id > (scope?.afterId ?? 0))
          .filter(({ item }) => scope?.id === undefined || item.target.id === scope.id)
          .slice(0, limit),
      markAdjustmentsDelivered: async (ids) => {
        delivered.push(...ids);
      },
    },
  };
};

const toParts = (world: World): DeliveryParts => ({
  ledger: world.ledger as Ledger,
  send: async (item) => {
    const sequence = item.kind === 'adjust' ? (item as AdjustItem).sequence : item.kind;
    world.sent.push(`${item.target.id} ${sequence}`);
    return world.decide(item);
  },
});
const run = async (world: World): Promise<number> => (await deliverAdjustments(toParts(world))).count;

const one = botRef('one', 1);
const two = botRef('two', 2);

test('adjustments are delivered in the order of the ledger', async () => {
  const world = createWorld([adjust(1, one, 1), adjust(2, two, 1), adjust(3, one, 2)]);

  assert.is(await run(world), 3);

  assert.equal(world.sent, ['one 1', 'two 1', 'one 2']);
  assert.equal(world.delivered, [1, 2, 3]);
});

test('without open adjustments nothing is marked as delivered', async () => {
  const world = createWorld([]);

  assert.is(await run(world), 0);

  assert.equal(world.delivered, []);
});

test('a listing that is stuck blocks its own later adjustments, and no others', async () => {
  const world = createWorld([adjust(1, one, 2), adjust(2, one, 3), adjust(3, two, 1)]);
  world.decide = (item) => ({ kind: item.target.id === 'one' ? 'gap' : 'applied' });

  assert.is(await run(world), 1);

  assert.equal(world.sent, ['one 2', 'two 1']);
  assert.equal(world.delivered, [3]);
});

test('what can be delivered later stays open: gap, absent, overflow', async () => {
  for (const kind of ['gap', 'absent', 'overflow'] as const) {
    const world = createWorld([adjust(1, one, 1)]);
    world.decide = () => ({ kind });

    assert.is(await run(world), 0);

    assert.equal(world.delivered, []);
  }
});

test('stuck listings keep no others waiting, however many they are, and are named', async () => {
  const perRound = limits.adjustmentsPerRound;
  const stuck = Array.from({ length: perRound }, (_, index) =>
    adjust(index + 1, botRef(`stuck-${index}`, index + 10), 1),
  );
  const world = createWorld([...stuck, adjust(1_000, one, 1)]);
  world.decide = (item) => ({ kind: item.target.id === 'one' ? 'applied' : 'damaged' });

  const first = await deliverAdjustments(toParts(world));
  const second = await deliverAdjustments(toParts(world), first);
  const third = await deliverAdjustments(toParts(world), second);

  assert.equal([first.count, second.count, world.delivered], [0, 1, [1_000]]);
  assert.equal([first.stuck.length, first.stuck[0]], [perRound, 'bot stuck-0 (damaged)']);
  assert.equal([second.stuck, third.stuck], [first.stuck, first.stuck], 'known until they are sent again');
  assert.is(world.sent.length, 2 * perRound + 1);
});

test('deleted listings need no adjustments: theirs count as delivered', async () => {
  const world = createWorld([adjust(1, one, 1), { id: 2, item: { kind: 'forget', target: one } }]);
  world.decide = (item) => ({ kind: item.kind === 'forget' ? 'applied' : 'forgotten' });

  assert.is(await run(world), 2);

  assert.equal(world.delivered, [1, 2]);
});

test('an incarnation that is stuck does not block a later one of the same id', async () => {
  const again = botRef('one', 5);
  const world = createWorld([adjust(1, one, 2), adjust(2, again, 1)]);
  world.decide = (item) => ({ kind: item.target.incarnation === 1 ? 'gap' : 'applied' });

  await run(world);

  assert.equal(world.delivered, [2]);
});

test('delivery can be limited to one listing', async () => {
  const world = createWorld([adjust(1, one, 1), adjust(2, two, 1)]);

  await deliverAdjustmentsOf(toParts(world), two);

  assert.equal(world.sent, ['two 1']);
});

test('a round is bounded', async () => {
  const many = Array.from({ length: limits.adjustmentsPerRound + 1 }, (_, index) =>
    adjust(index + 1, one, index),
  );
  const world = createWorld(many);

  assert.is(await run(world), limits.adjustmentsPerRound);
  assert.is(await run(world), 1);
});

const silences: readonly Error[] = [
  createNotAppliedError('load', 'unreachable'),
  createNotAppliedError('load', 'closed'),
  new DomainError('deadline_passed', 'no decision'),
];
for (const silence of silences)
  test(`a round ends at: ${silence.message}; what was acknowledged before is marked`, async () => {
    const world = createWorld([adjust(1, one, 1), adjust(2, two, 1), adjust(3, one, 2)]);
    world.decide = (item) => {
      if (item.target.id === 'two') throw silence;
      return { kind: 'applied' };
    };

    assert.is(await run(world).catch((error: Error) => error.message), silence.message);

    assert.equal([world.sent, world.delivered], [['one 1', 'two 1'], [1]]);
  });

test('a listing whose delivery fails keeps no others waiting, and is named with the reason', async () => {
  const three = botRef('three', 3);
  const open = [adjust(1, one, 1), adjust(2, one, 2), adjust(3, two, 1), adjust(4, three, 1)];
  const world = createWorld(open);
  world.decide = (item) => {
    if (item.target.id === 'one') throw createNotAppliedError('activate', 'damaged');
    if (item.target.id === 'two') throw new Error('a wrong number');
    return { kind: 'applied' };
  };

  const round = await deliverAdjustments(toParts(world));

  assert.equal(round.stuck, ['bot one (damaged)', 'bot two (a wrong number)']);
  assert.equal([world.sent, world.delivered], [['one 1', 'two 1', 'three 1'], [4]]);
  const ofOne = await deliverAdjustmentsOf(toParts(world), one).catch((error: Error) => error.message);
  assert.is(ofOne, 'activate: damaged (not_applied)', 'the caller learns of its own listing');
});

test('a delivery of facts that fails ends after all that it sent', async () => {
  const ledger = createLedgerModel();
  for (const id of ['a', 'b']) ledger.edit(ledger.list('bot', id), { voteBanned: true });
  const { promise: slow, resolve: answer } = Promise.withResolvers<Decision>();
  const send = (item: Item) => (item.target.id === 'a' ? Promise.reject(new Error('away')) : slow);
  let hasEnded = false;
  const delivery = deliverEdits({ ledger: ledger.port, send }, 5)
    .catch(String)
    .finally(() => {
      hasEnded = true;
    });
  await new Promise(setImmediate);
  assert.is(hasEnded, false);
  answer({ kind: 'applied' } as Decision);

  assert.is(await delivery, 'Error: away');
});

test('edited facts are sent until they are acknowledged, and not for deleted listings', async () => {
  const ledger = createLedgerModel();
  const [one, gone] = [ledger.list('bot', 'a'), ledger.list('bot', 'b')];
  ledger.edit(one, { voteBanned: true });
  ledger.edit(gone, { voteBanned: true });
  const sent: Item[] = [];
  const send = (fails: boolean) => async (item: Item) => {
    if (fails) throw new Error('away');
    sent.push(item);
    if (sent.length === 1) ledger.edit(one, { listed: false });
    return { kind: 'applied' } as const;
  };
  const failed = await deliverEdits({ ledger: ledger.port, send: send(true) }, 5).catch(String);
  assert.is(failed, 'Error: away');
  ledger.remove(gone);
  await deliverEdits({ ledger: ledger.port, send: send(false) }, 5);
  await deliverEdits({ ledger: ledger.port, send: send(false) }, 6);
  await deliverEdits({ ledger: ledger.port, send: send(false) }, 7);

  const facts = sent.map((item) => item.kind === 'facts' && [item.target.id, item.facts.revision, item.atMs]);
  assert.equal(facts, [
    ['a', 2, 5],
    ['a', 3, 6],
  ]);
});

test.run();
