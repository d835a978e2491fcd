/**
 * Shows the posts of the blog. The list is a snapshot that is serialised once.
 */
import type { FullPostRow, PostRow } from '../../storage/catalogue/content/blog.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import type { Post, PostSummary } from '../schema/blog.ts';
import type { Seo, User } from '../schema/common.ts';
import { createNotFoundError, toTimestamp, toUser } from './convert.ts';
import { replySnapshot } from './lists.ts';

const toAuthor = (row: PostRow): User => toUser(row.author, { id: row.author_id, bot: false });

const toPostSummary = (row: PostRow): PostSummary => ({
  author: toAuthor(row),
  created_at: toTimestamp(row.created_at),
  description: row.description,
  draft: row.draft,
  slug: row.slug,
  tags: [...row.tags],
  title: row.title,
});

/** `GET /blogs/@all`. */
export const showPosts = async (app: App): Promise<Reply> => {
  const posts = await app.catalogue.blog.listPosts();
  return replySnapshot(posts, () => ({ posts: posts.rows.map(toPostSummary) }));
};

const readPost = async (app: App, slug: string): Promise<FullPostRow> => {
  const row = await app.catalogue.blog.findPost(slug.toLowerCase());
  if (row === null) throw createNotFoundError('post');
  return row;
};

/** `GET /blogs/{slug}`. */
export const showPost = async (app: App, slug: string): Promise<Reply> => {
  const row = await readPost(app, slug);
  return replyOk<Post>({ ...toPostSummary(row), content: row.content });
};

/** `GET /blogs/{slug}/seo`: shows the avatar of the author. */
export const showPostSeo = async (app: App, slug: string): Promise<Reply> => {
  const row = await readPost(app, slug);
  return replyOk<Seo>({
    avatar: toAuthor(row).avatar,
    id: row.slug,
    name: row.title,
    short: row.description,
  });
};
