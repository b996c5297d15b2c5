//! Shared memory of a block.

use core::marker::PhantomData;

use crate::platform;

/// A place in shared memory: on nvptx64 an address of that state space, on the twin a pointer.
#[doc(hidden)]
pub use crate::platform::Address;

/// Elements that [`SharedArray::read`] and [`SharedArray::write`] can move: numbers of 1 to 8 bytes. Arrays of
/// other elements are used through their pointer.
pub trait Element: platform::Element {}
impl<T: platform::Element> Element for T {}

/// A shared array of `N` elements, declared with [`shared_array!`](crate::shared_array). Each block
/// has its own. It begins with unspecified contents.
pub struct SharedArray<T, const N: usize> {
    address: fn() -> Address,
    element: PhantomData<*mut T>,
}

impl<T, const N: usize> Clone for SharedArray<T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const N: usize> Copy for SharedArray<T, N> {}

impl<T, const N: usize> SharedArray<T, N> {
    /// For [`shared_array!`](crate::shared_array) alone.
    ///
    /// # Safety
    ///
    /// `address` returns, for all threads of a block, the same memory for an array of `N` elements.
    #[doc(hidden)]
    #[must_use]
    pub const unsafe fn new(address: fn() -> Address) -> Self {
        Self { address, element: PhantomData }
    }

    /// A pointer to the calling block's array: aligned as declared, `N` elements long, valid while the block
    /// runs.
    #[must_use]
    #[inline(always)]
    pub fn as_mut_ptr(self) -> *mut T {
        platform::generic_pointer((self.address)()).cast()
    }

    /// The place of an element in shared memory.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn element_address(self, index: usize) -> Address {
        platform::check_index(index, N);
        platform::element_address::<T>((self.address)(), index)
    }

    /// The number of elements.
    #[must_use]
    #[inline(always)]
    pub const fn len(self) -> usize {
        N
    }

    /// Whether there are no elements.
    #[must_use]
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        N == 0
    }
}

impl<T: Element, const N: usize> SharedArray<T, N> {
    /// Reads an element (`ld.shared`).
    ///
    /// # Safety
    ///
    /// `index` is less than `N` (checked on the twin), the element has been written, and no thread
    /// writes it at the same time.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub unsafe fn read(self, index: usize) -> T {
        platform::check_index(index, N);
        // SAFETY: the element is in the array (`address` gives `N` of them) and, as the caller
        // promises, holds a value that nobody is changing.
        unsafe { T::load((self.address)(), index) }
    }

    /// Writes an element (`st.shared`).
    ///
    /// # Safety
    ///
    /// `index` is less than `N` (checked on the twin), and no other thread reads or writes the
    /// element at the same time.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn write(self, index: usize, value: T) {
        platform::check_index(index, N);
        // SAFETY: the element is in the array, and nobody else accesses it, as the caller promises.
        unsafe { value.store((self.address)(), index) };
    }
}

/// Declares a [`SharedArray`](crate::shared::SharedArray): with a name outside functions, as an expression in
/// them.
///
/// ```
/// use profiler_kernel::shared_array;
///
/// shared_array!(static SCRATCH: [f32; 32]);
/// shared_array!(static TILE: [u16; 4096], align = 128);
/// assert_eq!(TILE.len(), 4096);
///
/// fn transpose<T, const N: usize>() {
///     let tile = shared_array!([T; N]);
///     let aligned = shared_array!([T; N], align = 128);
///     assert_eq!((tile.len(), aligned.len()), (N, N));
/// }
/// transpose::<f32, 64>();
/// ```
///
/// The alignment is 16 unless given; it must be a power of two, at least that of the element type.
///
/// # In a function
///
/// The expression is like a `static` of the function: one array for all its calls, and all turns of a loop. Each
/// instance of a generic function has its own, of which elements and length may depend on the parameters. The
/// PTX has a function without arguments that gives the array's address.
///
/// # With a name
///
/// The name becomes a name in the PTX, and so must be distinct within the whole module that is
/// loaded, whatever Rust modules the declarations are in; ptxas rejects duplicates.
///
/// On nvptx64 the declaring crate needs `feature(asm_experimental_arch)`, in
/// [the lines that crates of kernels begin with](crate#on-the-gpu).
#[macro_export]
macro_rules! shared_array {
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: [$element:ty; $count:expr] $(,)?) => {
        $crate::shared_array!(
            $(#[$attribute])* $visibility static $name: [$element; $count], align = 16
        );
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis static $name:ident: [$element:ty; $count:expr], align = $align:expr $(,)?
    ) => {
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(
            ::core::concat!(".shared .align {} .b8 ", ::core::stringify!($name), "[{}];"),
            const { $align },
            const { ::core::mem::size_of::<[$element; $count]>() },
        );

        $(#[$attribute])*
        $visibility const $name: $crate::shared::SharedArray<$element, { $count }> = {
            const _: () = {
                let align: usize = $align;
                assert!(
                    align.is_power_of_two() && align >= ::core::mem::align_of::<$element>(),
                    "the alignment of a shared array must be a power of two, at least that of its \
                     element type"
                );
            };

            #[inline(always)]
            fn address() -> $crate::shared::Address {
                #[cfg(target_arch = "nvptx64")]
                {
                    let address: u32;
                    // SAFETY: reads the address of the array declared above and touches no memory.
                    unsafe {
                        ::core::arch::asm!(
                            ::core::concat!("mov.u32 {}, ", ::core::stringify!($name), ";"),
                            out(reg32) address,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    address
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    // Its address tells the arrays apart.
                    static KEY: u8 = 0;
                    let bytes = ::core::mem::size_of::<[$element; $count]>();
                    $crate::__private::shared_memory((&raw const KEY).addr(), bytes, $align)
                }
            }

            // SAFETY: `address` gives the block's one array of this type.
            unsafe { $crate::shared::SharedArray::new(address) }
        };
    };
    ([$element:ty; $count:expr] $(,)?) => { $crate::shared_array!([$element; $count], align = 16) };
    ([$element:ty; $count:expr], align = $align:expr $(,)?) => {
        // No other expression has the closure's type.
        $crate::shared::local_array::<$element, { $count }, { $align }, _>(|| ())
    };
}

/// For [`shared_array!`](crate::shared_array) alone: the array of the place in the source whose closure it gets.
#[doc(hidden)]
#[must_use]
#[inline(always)]
pub fn local_array<T, const N: usize, const ALIGN: usize, P: Fn() + 'static>(
    _place: P,
) -> SharedArray<T, N> {
    const {
        assert!(N > 0 && size_of::<T>() > 0, "a shared array must have elements with a size");
        assert!(
            ALIGN.is_power_of_two() && ALIGN >= align_of::<T>(),
            "the alignment of a shared array must be a power of two, at least that of its element type"
        );
    }
    // SAFETY: the function gives one array of this type for this place.
    unsafe { SharedArray::new(platform::local_array::<T, N, ALIGN, P>) }
}

forward! {
    /// A pointer to the block's dynamic shared memory, aligned to 128; the launch chooses its length.
    #[must_use]
    fn dynamic_shared() -> *mut u8 = platform::dynamic_shared;

    /// Bytes of dynamic shared memory of the block (`%dynamic_smem_size`).
    #[must_use]
    fn dynamic_shared_bytes() -> u32 = platform::dynamic_shared_bytes;
}
