/**
 * Posts of the blog as clients see them. The list is a snapshot, serialised once.
 */
import type { FullPostRow, PostRow } from '../../storage/catalogue/blog.ts';
import { type App, ok, type Reply } from '../route.ts';
import type { Post, PostSummary } from '../schema/blog.ts';
import type { Seo, User } from '../schema/common.ts';
import { textOnce } from './lists.ts';
import { notFound, timestamp, userOf } from './values.ts';

const authorOf = (row: PostRow): User => userOf(row.author, { id: row.author_id, bot: false });

const summaryOf = (row: PostRow): PostSummary => ({
  author: authorOf(row),
  created_at: timestamp(row.created_at),
  description: row.description,
  draft: row.draft,
  slug: row.slug,
  tags: [...row.tags],
  title: row.title,
});

/** `GET /blogs/@all`. */
export const showPosts = async (app: App): Promise<Reply> => {
  const posts = await app.catalogue.blog.posts();
  return textOnce(posts, () => ({ posts: posts.rows.map(summaryOf) }));
};

const postOf = async (app: App, slug: string): Promise<FullPostRow> => {
  const row = await app.catalogue.blog.post(slug.toLowerCase());
  if (row === null) throw notFound('post');
  return row;
};

/** `GET /blogs/{slug}`. */
export const showPost = async (app: App, slug: string): Promise<Reply> => {
  const row = await postOf(app, slug);
  const post: Post = { ...summaryOf(row), content: row.content };
  return ok(post);
};

/** `GET /blogs/{slug}/seo`: the picture is the author's. */
export const showPostSeo = async (app: App, slug: string): Promise<Reply> => {
  const row = await postOf(app, slug);
  const seo: Seo = { avatar: authorOf(row).avatar, id: row.slug, name: row.title, short: row.description };
  return ok(seo);
};
