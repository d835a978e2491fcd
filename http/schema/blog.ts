/**
 * Schemas of the blog (contract §2.20, §4.8).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { buildText, buildTextList, Timestamp, User } from './common.ts';
import { buildObject, describe } from './example.ts';

export const PostParams = Type.Object({
  slug: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: plainText,
    description: 'Slug of a post in its address; upper and lower case are the same.',
    examples: ['welcome'],
  }),
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
export type PostSummary = Static<typeof PostSummary>;
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
export type Post = Static<typeof Post>;
