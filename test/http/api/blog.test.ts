/**
 * The routes of the blog against a complete Rollcall.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deletePost, type PostFields, upsertPost } from '../../../storage/catalogue/content/blog.ts';
import { addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { openWorld } from './world.ts';

const test = suite('routes of the blog');

const world = await openWorld();
await addUser(world.sql, 'robin');
await world.sql`update users set avatar = 'https://cdn.example.org/robin.png' where id = 'robin'`;
test.after(() => world.close());
test.before.each(async () => {
  await world.sql`delete from blog_posts`;
});

const write = (fields: Partial<PostFields> = {}) =>
  upsertPost(world.sql, {
    slug: 'welcome',
    title: 'Welcome',
    description: 'What this is.',
    content: '# Welcome\n\nEverything is counted.',
    tags: ['news'],
    authorId: 'robin',
    draft: false,
    ...fields,
  });
const slugs = async (): Promise<string[]> =>
  (await world.ask('GET', '/blogs/@all')).json.posts.map((post: { slug: string }) => post.slug);
const show = (slug: string) => world.ask('GET', `/blogs/${slug}`);
const setAge = (slug: string, days: number) =>
  world.sql`update blog_posts set created_at = now() - make_interval(days => ${days}) where slug = ${slug}`;

test('GET /blogs/@all → 200, empty at first', async () => {
  assert.equal((await world.ask('GET', '/blogs/@all')).json, { posts: [] });
});

test('GET /blogs/@all → 200 with published posts, the newest first and without content', async () => {
  for (const [days, slug] of ['newest', 'middle', 'oldest'].entries()) {
    await write({ slug });
    await setAge(slug, days);
  }
  await write({ slug: 'hidden', draft: true });
  const { json, headers } = await world.ask('GET', '/blogs/@all');

  assert.equal(await slugs(), ['newest', 'middle', 'oldest']);
  assert.is(headers.get('cache-control'), 'max-age=2');
  const { author, created_at: _, ...post } = json.posts[0];
  assert.equal([author.id, author.avatar], ['robin', 'https://cdn.example.org/robin.png']);
  assert.equal(post, {
    slug: 'newest',
    title: 'Welcome',
    description: 'What this is.',
    tags: ['news'],
    draft: false,
  });
});

test('GET /blogs/:slug → 200 with its content, in any case; 404 for none and for drafts', async () => {
  await write();
  const { status, json } = await show('Welcome');

  assert.equal([status, json.slug, json.content], [200, 'welcome', '# Welcome\n\nEverything is counted.']);
  await write({ slug: 'secret', draft: true });
  for (const path of ['nowhere', 'secret', 'secret/seo', 'nowhere/seo']) {
    const { status, json } = await show(path);
    assert.equal([status, json.context.code], [404, 'not_found'], path);
  }
});

test('GET /blogs/:slug → 200 with a stand-in for an unknown author', async () => {
  await write({ slug: 'strange', authorId: 'somebody' });

  assert.equal((await show('strange')).json.author.username, 'somebody');
});

test('GET /blogs/:slug/seo → 200 with title, description and the picture of the author', async () => {
  await write();

  assert.equal((await show('welcome/seo')).json, {
    avatar: 'https://cdn.example.org/robin.png',
    id: 'welcome',
    name: 'Welcome',
    short: 'What this is.',
  });
});

test('an edit keeps the time of a post, publishing a draft sets it, a deleted post is gone', async () => {
  await write({ slug: 'changing', draft: true });
  await setAge('changing', 400);
  await write({ slug: 'changing' });
  const published = (await show('changing')).json;
  assert.is((await slugs())[0], 'changing');
  await write({ slug: 'changing', title: 'Changed' });
  const edited = (await show('changing')).json;

  assert.equal([edited.title, edited.created_at], ['Changed', published.created_at]);
  assert.equal(
    [await deletePost(world.sql, 'changing'), await deletePost(world.sql, 'changing')],
    [true, false],
  );
  assert.is((await show('changing')).status, 404);
  assertExcludes(await slugs(), 'changing');
});

test.run();
