/**
 * Routes of the blog (contract §4.8).
 */
import { showPost, showPostSeo, showPosts } from '../handlers/blog.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { Post, PostParams, Posts } from '../schema/blog.ts';
import { Seo } from '../schema/common.ts';

export const blogRoutes = defineRoutes('Blog', [
  defineRoute({
    name: 'listPosts',
    pattern: 'GET /blogs/@all',
    summary: 'List posts',
    description: 'The 500 newest published posts without their content, newest first.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: Posts },
    handle: (app) => showPosts(app),
  }),
  defineRoute({
    name: 'getPost',
    pattern: 'GET /blogs/{slug}',
    summary: 'Get a post',
    description: 'One published post with its content. A draft is 404.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: PostParams,
    replies: { 200: Post },
    errors: ['not_found'],
    handle: (app, { params }) => showPost(app, params.slug),
  }),
  defineRoute({
    name: 'getPostSeo',
    pattern: 'GET /blogs/{slug}/seo',
    summary: 'Get the preview of a post',
    description: 'What search engines and link previews show of a published post.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: PostParams,
    replies: { 200: Seo },
    errors: ['not_found'],
    handle: (app, { params }) => showPostSeo(app, params.slug),
  }),
]);
