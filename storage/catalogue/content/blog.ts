/**
 * Blog posts in SQL. Drafts are visible to the operator only.
 *
 * The list is read whole, without contents, and cached as a snapshot like any list.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { hasRow, readFirst } from '../../sql/rows.ts';
import type { Snapshots } from '../shared/cache.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';

/** A post as lists show it, without its content. */
export interface PostRow {
  /** In lower case. */
  readonly slug: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly author_id: string;
  readonly draft: boolean;
  readonly created_at: Date;
  readonly author: PersonRow | null;
}
export interface FullPostRow extends PostRow {
  readonly content: string;
}
/** A post as the operator writes it. */
export interface PostFields extends Omit<FullPostRow, 'author_id' | 'created_at' | 'author'> {
  readonly authorId: string;
}

export const createBlog = (sql: Sql, snapshots: Snapshots) => ({
  /** Lists published posts, newest first. Returns the same object while the snapshot lasts. */
  listPosts: () =>
    snapshots.get('blog', () => asStorage('blog.posts', async () => ({ rows: await readPosts(sql) }))),
  /** Finds a published post; `null` when there is none. */
  findPost: (slug: string) => asStorage('blog.post', () => readPost(sql, slug)),
});

const postsListedMax = 500;

const buildPostColumns = (sql: Queryable) => sql`
  post.slug, post.title, post.description, post.tags, post.author_id, post.draft, post.created_at,
  ${buildPersonColumn(sql, 'post.author_id')} as author`;

const readPosts = (sql: Queryable): Promise<readonly PostRow[]> =>
  sql<PostRow[]>`
    select ${buildPostColumns(sql)} from blog_posts as post
    where not post.draft order by post.created_at desc, post.slug limit ${postsListedMax}`;

/** Lists posts and drafts for the operator, newest first. */
const listAllPosts = (sql: Queryable): Promise<readonly PostRow[]> =>
  sql<PostRow[]>`
    select ${buildPostColumns(sql)} from blog_posts as post
    order by post.created_at desc, post.slug limit ${postsListedMax}`;

const readPost = (sql: Queryable, slug: string): Promise<FullPostRow | null> =>
  readFirst(sql<FullPostRow[]>`
    select ${buildPostColumns(sql)}, post.content from blog_posts as post
    where post.slug = ${slug} and not post.draft`);

/**
 * Writes a post; ledger when it resolves. Its time is that of its publication: it is reset while the post is
 * a draft, and an edit of a published post keeps it.
 */
export const upsertPost = (sql: Queryable, post: PostFields): Promise<unknown> => sql`
  insert into blog_posts (slug, title, description, content, tags, author_id, draft)
  values (${post.slug}, ${post.title}, ${post.description}, ${post.content},
    ${post.tags as string[]}::text[], ${post.authorId}, ${post.draft})
  on conflict (slug) do update set title = excluded.title, description = excluded.description,
    content = excluded.content, tags = excluded.tags, author_id = excluded.author_id,
    draft = excluded.draft,
    created_at = case when blog_posts.draft then now() else blog_posts.created_at end`;

/** Deletes a post or draft; ledger when it resolves. Resolves to whether it existed. */
export const deletePost = (sql: Queryable, slug: string): Promise<boolean> =>
  hasRow(sql`delete from blog_posts where slug = ${slug} returning slug`);

/** Posts as operators read and write them. */
export const createBlogEdits = (sql: Sql) =>
  bindStorage('blog', sql, { posts: listAllPosts, put: upsertPost, remove: deletePost });
