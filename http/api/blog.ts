/**
 * The blog (contract §2.20, §4.8). The list is a snapshot that is serialised once.
 */
import { Type } from 'typebox';
import type { FullPostRow, PostRow } from '../../storage/catalogue/content/blog.ts';
import type { App } from '../app.ts';
import { requireFound } from '../response/errors.ts';
import { replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoutes } from '../route.ts';
import { buildName, buildText, buildTextList, Seo, Timestamp, User } from './shared/common.ts';
import { replySnapshot, toUser } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';

export const PostParams = Type.Object({
  slug: buildName(128, 'Slug of a post in its address; upper and lower case are the same.', 'welcome'),
});

const fields = {
  author: describe(User, 'Who wrote it.'),
  created_at: describe(Timestamp, 'When it was written.'),
  description: buildText(
    'What this directory is, and what it is not.',
    'What it is about, in a sentence or two.',
  ),
  draft: Type.Boolean({ description: 'Always false: drafts are not shown.' }),
  slug: buildText('welcome', 'Its address and id: 1 to 64 of `a-z 0-9 - _`.'),
  tags: buildTextList('Words that describe the post.', ['news']),
  title: buildText('Welcome', 'Its title.'),
};

/** A post without its content, as lists show it. */
export const PostSummary = buildObject(fields);

export const Posts = buildObject({
  posts: describe(Type.Array(PostSummary), 'The 500 newest published posts, newest first.'),
});

export const Post = buildObject({
  ...fields,
  content: buildText(
    'Everything here is counted, and nothing twice.',
    'The whole text, as the author wrote it.',
  ),
});

export const blogRoutes = defineRoutes('Blog', [
  definePublicRoute('listPosts', 'GET /blogs/@all', {
    summary: 'List posts',
    description: 'The 500 newest published posts without their content, newest first.',
    caching: 'list',
    replies: { 200: Posts },
    handle: async (app) => {
      const posts = await app.catalogue.blog.listPosts();
      return replySnapshot(posts, () => ({ posts: posts.rows.map(toPostSummary) }));
    },
  }),
  definePublicRoute('getPost', 'GET /blogs/{slug}', {
    summary: 'Get a post',
    description: 'One published post with its content. A draft is 404.',
    caching: 'entity',
    params: PostParams,
    replies: { 200: Post },
    handle: async (app, { params }) => {
      const row = await readPost(app, params.slug);
      return replyOk(showRow(Post, row, { author: toAuthor(row) }));
    },
  }),
  definePublicRoute('getPostSeo', 'GET /blogs/{slug}/seo', {
    summary: 'Get the preview of a post',
    description: 'What search engines and link previews show of a published post.',
    caching: 'entity',
    params: PostParams,
    replies: { 200: Seo },
    handle: async (app, { params }) => {
      const row = await readPost(app, params.slug);
      const { slug: id, title: name, description: short } = row;
      return replyOk<Seo>({ avatar: toAuthor(row).avatar, id, name, short });
    },
  }),
]);

const toAuthor = (row: PostRow): User => toUser(row.author, { id: row.author_id, bot: false });

const toPostSummary = (row: PostRow) => showRow(PostSummary, row, { author: toAuthor(row) });

const readPost = async (app: App, slug: string): Promise<FullPostRow> =>
  requireFound(await app.catalogue.blog.findPost(slug.toLowerCase()), 'post');
