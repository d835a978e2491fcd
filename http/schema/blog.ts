/**
 * Schemas of the blog (contract §2.20, §4.8).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { buildText, TextList, Timestamp, User } from './common.ts';
import { buildObject } from './example.ts';

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
  author: User,
  created_at: Timestamp,
  description: buildText('What this directory is, and what it is not.'),
  draft: Type.Boolean({ description: 'Always false: drafts are not shown.' }),
  slug: buildText('welcome'),
  tags: TextList,
  title: buildText('Welcome'),
};

/** A post without its content, as lists show it. */
export const PostSummary = buildObject(fields);
export type PostSummary = Static<typeof PostSummary>;
export const Posts = buildObject({ posts: Type.Array(PostSummary) });

export const Post = buildObject({
  ...fields,
  content: buildText('Everything here is counted, and nothing twice.'),
});
export type Post = Static<typeof Post>;
