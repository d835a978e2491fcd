/**
 * Schemas of the blog (contract §2.20, §4.8).
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { Text, TextList, Timestamp, User, userExample } from './common.ts';

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
  description: Text,
  draft: Type.Boolean({ description: 'Always false: drafts are not shown.' }),
  slug: Text,
  tags: TextList,
  title: Text,
};
const example = {
  author: userExample,
  created_at: '2026-03-01T12:00:00.000Z',
  description: 'What this directory is, and what it is not.',
  draft: false,
  slug: 'welcome',
  tags: ['news'],
  title: 'Welcome',
};

/** A post without its content, as lists show it. */
export const PostSummary = Type.Object(fields, { examples: [example] });
export type PostSummary = Static<typeof PostSummary>;
export const Posts = Type.Object({ posts: Type.Array(PostSummary) }, { examples: [{ posts: [example] }] });

export const Post = Type.Object(
  { ...fields, content: Text },
  { examples: [{ ...example, content: 'Everything here is counted, and nothing twice.' }] },
);
export type Post = Static<typeof Post>;
