"""What the operating system refused, in both languages. Its own word is in English, and often about a file nobody has heard of."""

import errno

from advantagelab.message import Message, message

REASONS = {
    errno.EROFS: message(en="the file system is read-only", zh="文件系统只读"),
    errno.ENOSPC: message(en="the disk is full", zh="磁盘已满"),
    errno.EDQUOT: message(en="the disk quota is used up", zh="磁盘配额已用完"),
    errno.EACCES: message(en="no permission", zh="没有权限"),
    errno.EPERM: message(en="no permission", zh="没有权限"),
    errno.ENOENT: message(en="it does not exist", zh="不存在"),
    errno.EISDIR: message(en="it is a folder", zh="是文件夹"),
    errno.ENOTDIR: message(en="a file is where a folder should be", zh="应为文件夹的位置上是一个文件"),
    errno.EEXIST: message(en="a file is where a folder should be", zh="应为文件夹的位置上是一个文件"),
}
NOTHING_CHANGED = message(en="nothing was changed", zh="没有改动任何内容")


class CannotWrite(OSError):
    """One file could not be written; what was there is as it was. more: what became of the rest, where that is known."""

    def __init__(self, cause: OSError, file, more: Message | None = None):
        super().__init__(cause.errno, cause.strerror, str(file))
        self._cause, self._more = cause, more

    def but(self, more: Message) -> "CannotWrite":
        return CannotWrite(self._cause, self.filename, more)

    @property
    def said(self) -> Message:
        reason, more = reason_of(self._cause), self._more
        return message(en=f"cannot write {self.filename}: {reason.en}{f'; {more.en}' if more else ''}",
                       zh=f"无法写入 {self.filename}：{reason.zh}{f'；{more.zh}' if more else ''}")

    def __str__(self) -> str:
        return str(self.said)


def reason_of(error: OSError) -> Message:
    plain = error.strerror or str(error)
    return REASONS.get(error.errno, message(en=plain, zh=plain))


def in_words(error: OSError, place: str) -> str:
    """place: what it is about, where the error does not say."""
    reason, place = reason_of(error), error.filename or place
    return f"{place}: {reason.en} | {place}：{reason.zh}"
