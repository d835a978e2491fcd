/**
 * Posts of the blog in SQL. Drafts are in no list and found by nobody; the operator writes and reads them.
 *
 * The list is read whole, without contents: it is as old as any list, at most. Called by catalogue.ts, and by
 * the operator's side for writing.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import type { Snapshots } from '../shared/cache.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';

/** A post as lists have it. */
export interface PostRow {
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
export interface PostFields {
  /** In lower case. */
  readonly slug: string;
  readonly title: string;
  readonly description: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly authorId: string;
  readonly draft: boolean;
}

export interface Blog {
  /** Published posts, the newest first; the object lives as long as the snapshot. */
  listPosts(): Promise<{ readonly rows: readonly PostRow[] }>;
  /** A published post; `null` when there is none. */
  findPost(slug: string): Promise<FullPostRow | null>;
}

export const createBlog = (sql: Sql, snapshots: Snapshots): Blog => ({
  listPosts: () =>
    snapshots.get('blog', () => asStorage('blog.posts', async () => ({ rows: await readPosts(sql) }))),
  findPost: (slug) => asStorage('blog.post', () => readPost(sql, slug)),
});

const postsListedMax = 500;

const buildPostColumns = (sql: Queryable) => sql`
  post.slug, post.title, post.description, post.tags, post.author_id, post.draft, post.created_at,
  ${buildPersonColumn(sql, 'users')} as author`;

const readPosts = (sql: Queryable): Promise<readonly PostRow[]> =>
  sql<PostRow[]>`
    select ${buildPostColumns(sql)} from blog_posts as post left join users on users.id = post.author_id
    where not post.draft order by post.created_at desc, post.slug limit ${postsListedMax}`;

/** Posts and drafts, the newest first: the operator's view. */
export const listAllPosts = (sql: Queryable): Promise<readonly PostRow[]> =>
  sql<PostRow[]>`
    select ${buildPostColumns(sql)} from blog_posts as post
    left join users on users.id = post.author_id
    order by post.created_at desc, post.slug limit ${postsListedMax}`;

const readPost = async (sql: Queryable, slug: string): Promise<FullPostRow | null> => {
  const rows = await sql<FullPostRow[]>`
    select ${buildPostColumns(sql)}, post.content from blog_posts as post
    left join users on users.id = post.author_id where post.slug = ${slug} and not post.draft`;
  return rows[0] ?? null;
};

/**
 * Writes a post, ledger. Its time is that of its first publication: a draft that is published begins anew,
 * an edit of what is published keeps it.
 */
export const upsertPost = (sql: Queryable, post: PostFields): Promise<void> =>
  asStorage('blog.upsertPost', async () => {
    await sql`
      insert into blog_posts (slug, title, description, content, tags, author_id, draft)
      values (${post.slug}, ${post.title}, ${post.description}, ${post.content},
        ${post.tags as string[]}::text[], ${post.authorId}, ${post.draft})
      on conflict (slug) do update set title = excluded.title, description = excluded.description,
        content = excluded.content, tags = excluded.tags, author_id = excluded.author_id,
        draft = excluded.draft,
        created_at = case when blog_posts.draft then now() else blog_posts.created_at end`;
  });

/** Deletes a post or draft, ledger. Resolves to whether there was one. */
export const deletePost = (sql: Queryable, slug: string): Promise<boolean> =>
  asStorage('blog.deletePost', async () => {
    const rows = await sql`delete from blog_posts where slug = ${slug} returning slug`;
    return rows.length === 1;
  });
