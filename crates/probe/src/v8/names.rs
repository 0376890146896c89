//! Which of V8's own C++ functions stand for which class of work.
//!
//! By name and not by number, because each version adds, drops and moves functions. A name that a
//! version does not have is no error: its successor is in the list, too.

use super::accounting::Class;

/// Calls from generated code that compile, install code or decide to optimize. What they leave
/// out, the event log tells.
const JIT: &[&str] = &[
    "BytecodeBudgetInterruptWithStackCheck_Ignition",
    "BytecodeBudgetInterruptWithStackCheck_Maglev",
    "BytecodeBudgetInterruptWithStackCheck_Sparkplug",
    "BytecodeBudgetInterrupt_Ignition",
    "BytecodeBudgetInterrupt_Maglev",
    "BytecodeBudgetInterrupt_Sparkplug",
    "CompileBaseline",
    "CompileLazy",
    "CompileOptimized",
    "CompileOptimizedOSR",
    "CompileOptimizedOSRFromMaglev",
    "CompileOptimizedOSRFromMaglevInlined",
    "HealOptimizedCodeSlot",
    "InstallBaselineCode",
    "InstallBytecode",
    "InstallSFICode",
    "MarkLazyDeoptimized",
    "MaybePatchBinaryBaselineCode",
    "NotifyDeoptimized",
    "OptimizeMaglevEager",
    "OptimizeTurbofanEager",
    "PatchLoadICUninitializedBaseline",
    "StackGuard",
    "StackGuardWithGap",
    "StartMaglevOptimizeJob",
    "StartTurbofanOptimizeJob",
    "WasmCompileLazy",
    "WasmTriggerTierUp",
];

/// What `new Function` and its like call: builtins, which V8 calls as it calls runtime functions.
/// They look into a cache, walk the stack for the caller and put the text together before V8's log
/// tells that it compiles. Not `GlobalEval`, which runs what it compiled before it returns.
const FUNCTIONS_OF_TEXT: &[&str] = &[
    "AsyncFunctionConstructor",
    "AsyncGeneratorFunctionConstructor",
    "FunctionConstructor",
    "GeneratorFunctionConstructor",
];

/// Functions that are found, wrapped and believed together, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Group {
    Misses,
    Compilation,
    FunctionsOfText,
}

/// Number of groups.
pub const GROUPS: usize = 3;

impl Group {
    pub fn class(self) -> Class {
        match self {
            Self::Misses => Class::Ic,
            Self::Compilation | Self::FunctionsOfText => Class::Jit,
        }
    }

    /// What V8 puts before the names of such functions.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Misses | Self::Compilation => "Runtime_",
            Self::FunctionsOfText => "Builtin_",
        }
    }
}

/// The part of such a function's mangled name behind its length.
const MANGLED_END: &str = "EiPmPNS0_7IsolateE";

/// The group of a function, by its name without prefix; `None` for one that is not watched.
pub fn group_of(name: &str) -> Option<Group> {
    let is_miss = [
        "IC_Miss",
        "IC_Slow",
        "ICNoFeedback_Miss",
        "IC_Miss_FromBaseline",
    ]
    .iter()
    .any(|end| name.ends_with(end));
    if is_miss {
        return Some(Group::Misses);
    }
    if FUNCTIONS_OF_TEXT.contains(&name) {
        return Some(Group::FunctionsOfText);
    }
    JIT.binary_search(&name)
        .is_ok()
        .then_some(Group::Compilation)
}

/// `<name>` of the symbol `v8::internal::Runtime_<name>` or `Builtin_<name>`, if it is watched.
pub fn watched_symbol(symbol: &[u8]) -> Option<&str> {
    let rest = std::str::from_utf8(symbol)
        .ok()?
        .strip_prefix("_ZN2v88internal")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length = rest[..digits].parse::<usize>().ok()?;
    let name = rest[digits..].strip_suffix(MANGLED_END)?;
    let (prefix, _) = name.split_at_checked("Runtime_".len())?;
    let short = &name[prefix.len()..];
    let is_named = |group: Group| group.prefix() == prefix && name.len() == length;
    group_of(short)
        .filter(|group| is_named(*group))
        .map(|_| short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_misses_and_compilation() {
        for name in [
            "LoadIC_Miss",
            "KeyedStoreIC_Slow",
            "StoreGlobalICNoFeedback_Miss",
        ] {
            assert_eq!(group_of(name), Some(Group::Misses), "{name}");
        }
        assert_eq!(group_of("LoadIC_Miss_FromBaseline"), Some(Group::Misses));
        for name in JIT {
            assert_eq!(
                group_of(name),
                Some(Group::Compilation),
                "{name}: the list is not sorted"
            );
        }
        assert_eq!(group_of("CreateObjectLiteral"), None);
    }

    #[test]
    fn reads_mangled_names() {
        let watched = |symbol: &str| watched_symbol(symbol.as_bytes()).map(str::to_owned);
        let symbol = "_ZN2v88internal19Runtime_LoadIC_MissEiPmPNS0_7IsolateE";
        assert_eq!(watched(symbol).as_deref(), Some("LoadIC_Miss"));
        let symbol = "_ZN2v88internal27Builtin_FunctionConstructorEiPmPNS0_7IsolateE";
        assert_eq!(watched(symbol).as_deref(), Some("FunctionConstructor"));
        for other in [
            "_ZN2v88internal19Runtime_LoadIC_MissEiPmPNS0_7IsolateE.cold",
            "_ZN2v88internal18Runtime_LoadIC_MissEiPmPNS0_7IsolateE",
            "_ZN2v88internal12Runtime_TypeEiPmPNS0_7IsolateE",
            "_ZN2v88internal27Runtime_FunctionConstructorEiPmPNS0_7IsolateE",
            "_ZN2v88internal19Builtin_LoadIC_MissEiPmPNS0_7IsolateE",
            "_ZN2v88internal3éééEiPmPNS0_7IsolateE",
            "_ZN2v88internal99999999999999999999999Runtime_EiPmPNS0_7IsolateE",
            "main",
        ] {
            assert_eq!(watched(other), None, "{other}");
        }
    }
}
