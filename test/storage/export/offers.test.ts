/**
 * The operator's content (tiers, shop, blog, positions, applications, reserved names) survives an export and
 * an import into a new directory, byte for byte.
 */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { ImportStopped, importLines } from '../../../storage/import/import.ts';
import { linesOf, openTestStore } from '../import/store.ts';

const test = suite('export of offers');
/** New directories, with the positions that every new directory has. */

const from = await openTestStore();
const to = await openTestStore();
test.after(async () => {
  await from.close();
  await to.close();
});

const question = {
  id: 'why',
  question: 'Why?',
  paragraph: 'In words.',
  placeholder: 'Because …',
  short: false,
};

const position = (id: string, info: string) => ({
  ...{ id, ordinal: 3, name: 'Helper', info, tags: ['Help', 'and "more"'], questions: [question] },
  ...{ closed: true, hidden: false, cooldown_hours: 12 },
});

const fillOffers = async ({ operator, sql }: Catalogue): Promise<void> => {
  const { tiers, shop, blog, positions, reservedNames } = operator;
  for (const [id, order] of ['slab-b', 'slab-a'].entries())
    await tiers.put({ id: order, target_type: 'bot', position: id, votes: 100, cents: 10 });
  const sorts = ['bot', 'server'] as const;
  await shop.putBenefit({
    id: 'fast',
    name: 'Fast',
    description: 'Votes\nsooner.',
    target_types: [...sorts],
  });
  await shop.putItem({
    ...{ id: 'month', name: 'A month', description: '', cents: '499.5', duration_hours: 720 },
    ...{ benefits: ['fast'], target_types: ['bot'] },
  });
  await shop.putCoupon({
    ...{ id: 'spring', code: 'SPRING', cents: '0.000001', public: true, usable: false, expiry_hours: 24 },
    ...{ max_uses: 3, reuse_wait_hours: 1, allowed_users: ['5'], applicable_items: ['month'] },
    ...{ requirements: ['certified'], target_types: [] },
  });
  const post = {
    title: 'Welcome',
    description: '',
    content: 'Words.\nMore “words”.',
    tags: [],
    authorId: '5',
  };
  await blog.put({ ...post, slug: 'welcome', draft: false });
  await blog.put({ ...post, slug: 'later', draft: true, tags: ['news'] });
  await positions.put(position('helper', 'New.'));
  await positions.put(position('staff', 'Rewritten.'));
  await positions.remove('dev');
  await reservedNames.add('lantern');
  const answers = JSON.stringify({ why: 'I like to.\nReally.' });
  for (const [state, feedback, at] of [
    ['pending', '', null],
    ['denied', 'Not yet.', new Date()],
  ] as const)
    await sql`
      insert into apps (app_id, user_id, position, questions, answers, state, review_feedback, reviewed_at)
      values (${randomUUID()}, '5', 'staff', ${JSON.stringify([question])}::text::jsonb,
        ${answers}::text::jsonb, ${state}, ${feedback}, ${at})`;
};

const linesIn = (text: string): string[] => text.split('\n').slice(0, -1);

test('the content of an operator, imported into a new directory, gives the same export', async () => {
  await fillOffers(createCatalogue(from.sql));
  const exported = await from.dump();

  const report = await importLines(to.sql, linesIn(exported));

  assert.is(await to.dump(), exported);
  const { added } = report;
  assert.equal(
    [added.tier, added.benefit, added.item, added.coupon, added.post, added.position, added.application],
    [2, 1, 1, 1, 2, 7, 2],
  );
  const again = await importLines(to.sql, linesIn(exported));
  assert.is(again.skipped, linesIn(exported).length);
  assert.is(await to.dump(), exported, 'a second import changes nothing');
});

test('an import keeps positions that an operator wrote, and deletes those of a new directory', async () => {
  await createCatalogue(to.sql).operator.positions.put(position('qaqc', 'Ours.'));
  const record = { kind: 'position', id: 'qaqc', name: 'Other', questions: [{ id: 'a', question: 'A?' }] };

  await importLines(to.sql, linesOf(record));

  const [row] = await to.sql`select info, shipped from app_positions where id = 'qaqc'`;
  assert.equal({ ...row }, { info: 'Ours.', shipped: false });
});

for (const [what, records, message] of [
  [
    'an item of an unknown benefit',
    [{ kind: 'item', id: 'a', name: 'A', cents: 1, benefits: ['none'] }],
    /no benefit none/,
  ],
  [
    'a coupon for an unknown item',
    [{ kind: 'coupon', id: 'a', code: 'A', cents: 1, applicable_items: ['none'] }],
    /no item none/,
  ],
  [
    'a code that another coupon has',
    [{ kind: 'coupon', id: 'a', code: 'SPRING', cents: 1 }],
    /refused by the database.*SPRING/,
  ],
  [
    'a certification that does not ask for the bot',
    [{ kind: 'position', id: 'certification2', name: 'A', questions: [] }],
    /questions/,
  ],
] as const) {
  test(`${what} stops the import, and nothing of it is written`, async () => {
    const before = await to.dump();
    const stopped = await importLines(to.sql, linesOf(...records)).then(
      () => null,
      (error: unknown) => error,
    );

    assert.instance(stopped, ImportStopped);
    assert.match((stopped as Error).message, message);
    assert.is(await to.dump(), before);
  });
}

test.run();
