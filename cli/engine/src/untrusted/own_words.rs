//! The words of a comment that are its writer's own: the one reader of Markdown for answers and for `break glass`.
//!
//! A decision hidden in a quote, in code or in a fold is somebody else's text that was pasted. So the comment is read by a
//! real Markdown parser, with the blocks that GitLab adds: tables, footnotes, alerts, formulas, definition lists, front
//! matter, and `>>>` around several quoted lines, which no parser knows. Where readers of Markdown may disagree, the text
//! counts as quoted: asking again costs a comment, acting on somebody else's words costs a wrong approval.

mod html;
mod quotation;
mod quotes;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use self::{html::OpenTags, quotation::OpenQuotation};

/// Stands for code, a picture, a link or a formula, so that what surrounds it does not become one sentence without it.
pub(crate) const LEFT_OUT: char = '\u{E000}';

/// What a comment's writer says in their own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnWords {
    /// The blocks in order, without quotes, code, raw HTML, footnotes and front matter.
    pub blocks: Vec<OwnBlock>,
    /// Whether some of the words may be missing, or may not count: there is raw HTML, struck text, or an odd `>>>`.
    pub doubtful: bool,
    /// Whether something that is not in `blocks` stands behind the first of them: a quote, a block of code, a footnote.
    pub goes_on: bool,
}

/// A block of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnBlock {
    /// True if it is a paragraph at the top level: no heading, no list, no table.
    pub paragraph: bool,
    /// Its lines.
    pub lines: Vec<OwnLine>,
}

/// A line of a block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnLine {
    /// Its text, without marks of emphasis.
    pub text: String,
    /// True if anything but plain text stands in it: emphasis, a link, code, a formula, raw HTML.
    pub marked_up: bool,
}

impl OwnWords {
    /// Reads a comment.
    pub fn of(comment: &str) -> Self {
        let comment = comment.replace("\r\n", "\n").replace(['\r', LEFT_OUT], "\n");
        let quotes::Unquoted { text, doubtful } = quotes::without(&comment);
        let mut reader = Reader {
            words: Self {
                doubtful,
                ..Self::default()
            },
            ..Reader::default()
        };
        for (event, range) in Parser::new_ext(&text, options()).into_offset_iter() {
            let is_open_fence = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))))
                && !is_closed(text.get(range).unwrap_or_default());
            if is_open_fence && reader.foreign == 0 {
                // A fence that its list has ended, not its writer: what follows was meant to be in it.
                reader.tags.hide_rest();
            }
            reader.take(event);
        }
        reader.words.doubtful |= reader.tags.any;
        reader.words.blocks.retain(|block| !block.is_blank());
        reader.words
    }

    /// The blocks that begin outside of quotation marks: a quotation may go over several paragraphs.
    pub fn unquoted_blocks(&self) -> impl Iterator<Item = &OwnBlock> {
        let mut open = OpenQuotation::default();
        self.blocks.iter().filter(move |block| {
            let is_quoted = open.is_open();
            block.lines.iter().for_each(|line| open.read(&line.text));
            !is_quoted
        })
    }

    /// The lines that consist of nothing but plain text, in paragraphs at the top level.
    pub fn plain_lines(&self) -> impl Iterator<Item = &str> {
        self.blocks
            .iter()
            .filter(|block| block.paragraph)
            .flat_map(|block| &block.lines)
            .filter(|line| !line.marked_up)
            .map(|line| line.text.as_str())
    }
}

impl OwnBlock {
    /// Returns whether it is a paragraph at the top level that consists of nothing but plain text.
    pub fn is_plain_paragraph(&self) -> bool {
        self.paragraph && self.lines.iter().all(|line| !line.marked_up)
    }

    fn is_blank(&self) -> bool {
        self.lines.iter().all(|line| line.text.trim().is_empty())
    }

    /// The block's text, a line each.
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }
}

/// Returns whether a block of raw HTML begins at this place of a text, at the top level: not in code, in a quote, or in
/// a list.
pub fn begins_html(text: &str, at: usize) -> bool {
    let mut depth: usize = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::HtmlBlock) if range.start == at => return depth == 0,
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Returns whether a block of code has an end of its own.
fn is_closed(block: &str) -> bool {
    let mark = block.trim_start().chars().next().unwrap_or('`');
    let mut lines = block.trim_end().lines();
    let opened = lines.next().unwrap_or_default().trim_start();
    let length = opened.chars().take_while(|next| *next == mark).count();
    let last = lines.next_back().unwrap_or_default().trim();
    last.chars().all(|next| next == mark) && last.chars().count() >= length
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
        | Options::ENABLE_DEFINITION_LIST
}

/// Follows the parser.
#[derive(Debug, Default)]
struct Reader {
    words: OwnWords,
    tags: OpenTags,
    /// The text of the block of HTML that is being read.
    html: Option<String>,
    /// Open quotes, blocks of code and footnotes.
    foreign: usize,
    /// Open lists, headings, tables and the like.
    nested: usize,
    /// Open links and pictures.
    linked: usize,
    /// Open marks of emphasis.
    emphasized: usize,
    /// Open marks of struck text.
    struck: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push(&text),
            Event::SoftBreak | Event::HardBreak => self.new_line(),
            Event::Html(text) => match &mut self.html {
                Some(html) => html.push_str(&text),
                None => self.tags.read(&text),
            },
            Event::InlineHtml(text) => {
                if self.foreign == 0 {
                    self.tags.read(&text);
                    self.mark();
                }
            }
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {
                self.leave_out();
            }
            Event::Rule => self.new_block(false),
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => self.new_block(self.nested == 0),
            Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::FootnoteDefinition(_) | Tag::MetadataBlock(_) => {
                self.foreign += 1;
                self.words.goes_on |= self.words.blocks.iter().any(|block| !block.is_blank());
            }
            Tag::HtmlBlock => self.html = Some(String::new()),
            Tag::Emphasis | Tag::Strong | Tag::Superscript | Tag::Subscript => self.emphasized += 1,
            Tag::Strikethrough => {
                self.struck += 1;
                self.words.doubtful |= self.foreign == 0;
                self.mark();
            }
            Tag::Link { .. } | Tag::Image { .. } => {
                self.leave_out();
                self.linked += 1;
            }
            Tag::Heading { .. }
            | Tag::List(_)
            | Tag::Item
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell => {
                self.nested += 1;
                self.new_block(false);
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.new_block(false),
            TagEnd::BlockQuote(_) | TagEnd::CodeBlock | TagEnd::FootnoteDefinition | TagEnd::MetadataBlock(_) => {
                self.foreign = self.foreign.saturating_sub(1);
                self.new_block(false);
            }
            TagEnd::HtmlBlock => {
                if let Some(html) = self.html.take().filter(|_| self.foreign == 0) {
                    self.tags.read(&html);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Superscript | TagEnd::Subscript => {
                self.emphasized = self.emphasized.saturating_sub(1);
            }
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.linked = self.linked.saturating_sub(1),
            TagEnd::Heading(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell => {
                self.nested = self.nested.saturating_sub(1);
                self.new_block(false);
            }
        }
    }

    fn push(&mut self, text: &str) {
        if self.foreign > 0 || self.tags.is_inside() || self.struck > 0 || self.linked > 0 {
            return;
        }
        let emphasized = self.emphasized > 0;
        if let Some(line) = self.line() {
            line.text.push_str(text);
            line.marked_up |= emphasized;
            // A comment that never ends is shown as text; its writer meant to hide what follows.
            if let Some(at) = line.text.find("<!--") {
                line.text.truncate(at);
                self.tags.hide_rest();
            }
        }
    }

    fn leave_out(&mut self) {
        self.push(&LEFT_OUT.to_string());
        self.mark();
    }

    fn mark(&mut self) {
        if self.foreign == 0
            && let Some(line) = self.line()
        {
            line.marked_up = true;
        }
    }

    /// The line that is being written.
    fn line(&mut self) -> Option<&mut OwnLine> {
        if self.words.blocks.is_empty() {
            self.new_block(false);
        }
        self.words.blocks.last_mut()?.lines.last_mut()
    }

    fn new_line(&mut self) {
        if self.foreign == 0
            && let Some(block) = self.words.blocks.last_mut()
        {
            block.lines.push(OwnLine::default());
        }
    }

    fn new_block(&mut self, paragraph: bool) {
        if self.foreign == 0 {
            self.words.blocks.push(OwnBlock {
                paragraph,
                lines: vec![OwnLine::default()],
            });
        }
    }
}

#[cfg(test)]
#[path = "own_words_tests.rs"]
mod tests;
